"""`contour run` with a bootstrap of one's own, named on the command line or in a configuration."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.ports import free_ports
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_NAME = "ContourConfiguration default/contour"
_FILES = ("services.yaml", "live.yaml")


class Own(NamedTuple):
    """An instance, and the port of the administration interface of its Envoy."""

    instance: Standalone
    admin: int


def _bootstrap(admin: int, listener: int) -> str:
    return f"""
type: Merge
value: |
  admin:
    address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}
  static_resources:
    clusters:
    - {{name: extra, connect_timeout: 1s}}
    listeners:
    - name: own
      address: {{socket_address: {{address: 127.0.0.1, port_value: {listener}}}}}
      filter_chains:
      - filters:
        - name: envoy.filters.network.tcp_proxy
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
            stat_prefix: own
            cluster: envoy-admin
"""


def _configuration(spec: str) -> str:
    return (
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        f"metadata: {{name: contour}}\nspec: {spec}\n"
    )


def _page(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    folder, (admin, listener) = tmp_path_factory.mktemp("own"), free_ports(2)
    (folder / "bootstrap.yaml").write_text(_bootstrap(admin, listener))
    options = ("--bootstrap", str(folder / "bootstrap.yaml"))
    files = {name: manifest(name) for name in _FILES}
    with standalone(folder, files, options=options) as instance:
        yield Own(instance, listener)


def test_envoy_serves_with_it(own: Own) -> None:
    assert own.instance.ask("http://live.example.com/").backend == "one"


def test_the_listener_the_cluster_and_the_port_are_there(own: Own) -> None:
    """The listener leads to the administration interface, which is at another port."""
    assert "extra::" in _page(own.admin, "/clusters")
    assert "control_plane.connected_state: 1" in _page(own.admin, "/stats")


def test_a_configuration_cannot_say_otherwise_while_the_command_line_names_one(own: Own) -> None:
    own.instance.write("contour.yaml", _configuration("{envoy: {bootstrap: {value: 'a: 1'}}}"))
    own.instance.until_told(_NAME, "contour run was given another one by --bootstrap")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{admin: {}}", "spec.envoy.bootstrap: dynamic_resources.ads_config must stay"),
        ("{a: 1}", "spec.envoy.bootstrap: a is no field of envoy.config.bootstrap.v3.Bootstrap"),
    ],
)
def test_a_bad_one_of_a_configuration_is_told_and_envoy_serves_without_it(
    said: str, told: str, tmp_path: Path
) -> None:
    files = {name: manifest(name) for name in _FILES}
    files["contour.yaml"] = _configuration(f"{{envoy: {{bootstrap: {{value: '{said}'}}}}}}")
    with standalone(tmp_path, files) as instance:
        assert instance.ask("http://live.example.com/").backend == "one"
        instance.until_told(_NAME, told)


def test_a_change_waits_for_the_next_start(tmp_path: Path) -> None:
    (admin, listener) = free_ports(2)
    text = _bootstrap(admin, listener).strip().replace("\n", "\n    ")
    files = {name: manifest(name) for name in _FILES}
    files["contour.yaml"] = _configuration(f"\n  envoy:\n   bootstrap:\n    {text}\n")
    with standalone(tmp_path, files) as instance:
        assert "extra::" in _page(listener, "/clusters")
        assert instance.reasons(_NAME) == ""
        instance.write("contour.yaml", _configuration("{}"))
        instance.until_told(_NAME, "takes effect at the next start, on one machine")
        wait(lambda: "extra::" in _page(listener, "/clusters"), "the old bootstrap")
