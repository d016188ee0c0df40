"""The page on upgrading the CRDs of the Gateway API, typed as it stands into a real cluster."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests import upstream
from tests.cluster import controlplane
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.testbed.processes import wait

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
_PAGE = (ROOT / "docs" / "upgrading-gateway-api.md").read_text()
_INSTALL = re.compile(r"https://\S+/download/(v[0-9.]+)/(\w+)-install\.yaml")
_CLASSES = "gatewayclasses.gateway.networking.k8s.io"
_ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route, namespace: default}
spec: {rules: [{%s}]}
"""


def _commands(section: str, newest: str = "v1.7.0") -> list[list[str]]:
    """What a section says to type, with the CRDs of this machine and this release for v1.7.0."""
    text = _PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0].replace("v1.7.0", newest)
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S)).splitlines()
    found = [it.partition(" > ")[0] for it in lines if it]
    return [shlex.split(_INSTALL.sub(_folder, it))[1:] for it in found]


def _folder(url: re.Match[str]) -> str:
    return str(upstream.folder(f"crds/gateway-api-{url[1]}/{url[2]}"))


def _version(cluster: Cluster) -> str:
    found = cluster.kubectl("get", "crd", _CLASSES, "-o", "json").stdout
    annotations: dict[str, str] = json.loads(found)["metadata"]["annotations"]
    return annotations["gateway.networking.k8s.io/bundle-version"]


def _rule(cluster: Cluster) -> dict[str, Any]:
    found = cluster.kubectl("get", "httproute", "route", "-o", "json")
    rule: dict[str, Any] = json.loads(found.stdout)["spec"]["rules"][0] if found.stdout else {}
    return rule


def _typed(cluster: Cluster, *commands: list[str]) -> None:
    for it in commands:
        done = cluster.kubectl(*it)
        assert done.returncode == 0, done.stderr


def _write(cluster: Cluster, rule: str) -> None:
    """Writes the route; new CRDs are served a moment after they are there."""
    apply = ("apply", "--server-side", "-f", "-")
    wait(lambda: not cluster.kubectl(*apply, stdin=_ROUTE % rule).returncode, "the route")


@pytest.fixture(name="own")
def _own(start_control_plane: Start) -> Cluster:
    upstream.folder("crds/gateway-api-v1.7.0")  # or skips, before a cluster is started
    plane: controlplane.ControlPlane = start_control_plane()
    return Cluster(plane.folder)


def test_crds_are_upgraded_and_go_back_as_the_page_says(own: Cluster) -> None:
    upgrade, dry_run = _commands("The standard channel")
    delete, back = _commands("The way back")
    _typed(own, back)
    _write(own, "name: a")
    _typed(own, upgrade)
    assert _version(own) == "v1.7.0"
    _write(own, "name: a, retry: {attempts: 0}")
    assert _rule(own)["retry"] == {"attempts": 0}
    wait(lambda: "before v1.7.0 is prohibited" in own.kubectl(*dry_run).stderr, "the policy")
    experimental = [it.replace("1/standard", "1/experimental") for it in dry_run]
    assert own.kubectl(*experimental).returncode
    assert _version(own) == "v1.7.0"
    _typed(own, delete)
    wait(lambda: not own.kubectl(*dry_run).returncode, "the end of the policy")
    _typed(own, back)
    assert _version(own) == "v1.6.1"
    wait(lambda: "retry" not in _rule(own), "what is pruned")
    _typed(own, upgrade)
    wait(lambda: _rule(own).get("retry") == {"attempts": 0}, "what was stored")


def test_sessions_are_pruned_as_the_page_says(own: Cluster) -> None:
    keep, upgrade = _commands("The experimental channel")
    _, install = _commands("The experimental channel", "v1.6.1")
    _typed(own, install)
    _write(own, "sessionPersistence: {sessionName: s, cookieConfig: {lifetimeType: Session}}")
    _typed(own, keep, upgrade)
    wait(lambda: "sessionName" not in _rule(own)["sessionPersistence"], "what is pruned")
    _write(own, "sessionPersistence: {cookie: {name: s, lifetimeType: Session}}")
    assert _rule(own)["sessionPersistence"]["cookie"]["name"] == "s"
