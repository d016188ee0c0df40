"""The charts on a real API server: installed, upgraded from an older version, uninstalled.

In `released` is what `helm package` made of the charts at the commit that is named here, of each
version that somebody may have installed. A version is never used twice for different contents.
"""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.testbed import helm
from tests.testbed.processes import ROOT, wait

pytestmark = pytest.mark.cluster

KINDS = (
    "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,services,deployments,"
    "daemonsets,jobs,cronjobs,networkpolicies,poddisruptionbudgets,configmaps,secrets,"
    "contourconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
)
RELEASED = {"0.1.0": "a42abca8"}
"""The commit of each version."""
FOLDER = Path(__file__).parent / "released"
Run = Callable[..., str]


def _version(description: str) -> tuple[int, ...]:
    found: str = yaml.safe_load(description)["version"]
    return tuple(map(int, found.split(".")))


@pytest.mark.parametrize("version", RELEASED)
@pytest.mark.parametrize("chart", ["contour", "contour-operator"])
def test_other_contents_have_a_higher_version(chart: str, version: str) -> None:
    now = {
        f"{chart}/{it.relative_to(ROOT / 'charts' / chart)}": it.read_text()
        for it in (ROOT / "charts" / chart).rglob("*")
        if it.is_file()
    }
    with tarfile.open(FOLDER / f"{chart}-{version}.tgz") as archive:
        then = {it.name: archive.extractfile(it).read().decode() for it in archive.getmembers()}  # type: ignore[union-attr]
    description = f"{chart}/Chart.yaml"
    old, new = then.pop(description), now.pop(description)
    assert now == then or _version(new) > _version(old)


@pytest.fixture(name="own")
def _own(start_control_plane: Start) -> Cluster:
    return Cluster(start_control_plane().folder)


@pytest.mark.parametrize("version", RELEASED)
@pytest.mark.parametrize("chart", ["contour", "contour-operator"])
def test_a_release_comes_changes_and_goes(
    own: Cluster, tmp_path: Path, chart: str, version: str
) -> None:
    older, newer = FOLDER / f"{chart}-{version}.tgz", ROOT / "charts" / chart

    def run(*arguments: str | Path) -> str:
        place = ("--kubeconfig", own.admin, "--namespace", "ingress")
        done = helm.run(tmp_path, *arguments, *place)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert own.kubectl("create", "namespace", "ingress").returncode == 0
    _settle(own)
    run("install", "x", older, "--set", "image=registry.example.com/older:1")
    installed = _objects(own)
    assert "deployment.apps/" in installed
    assert "registry.example.com/older:1" in _images(own)
    assert _rules(own) == _rules_of(run("template", "x", older))
    written = own.kubectl("apply", "-n", "ingress", "-f", "-", stdin=_PROXY)
    assert written.returncode == 0, written.stderr
    crds = ("apply", "--server-side", "--force-conflicts", "-f", str(newer / "crds" / "crds.yaml"))
    assert own.kubectl(*crds).returncode == 0
    run("upgrade", "x", newer, "--set", "image=registry.example.com/newer:2")
    assert "registry.example.com/newer:2" in _images(own)
    assert "registry.example.com/older:1" not in _images(own)
    assert _rules(own) == _rules_of(run("template", "x", newer))
    assert _objects(own, "httpproxies") == "httpproxy.projectcontour.io/shop\n"
    history = json.loads(run("history", "x", "-o", "json"))
    now = yaml.safe_load((newer / "Chart.yaml").read_text())["version"]
    assert [it["chart"] for it in history] == [f"{chart}-{version}", f"{chart}-{now}"]
    run("uninstall", "x")
    wait(lambda: not _left(own), "the end of all objects of the release")
    assert "httpproxies.projectcontour.io" in own.kubectl("get", "crds", "-o", "name").stdout


_PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec: {virtualhost: {fqdn: shop.example.com}, routes: [{services: [{name: web, port: 80}]}]}
"""


def _rules(own: Cluster) -> dict[str, Any]:
    """Of the ClusterRoles that Helm has made, by name."""
    found = own.kubectl("get", "clusterroles", "-o", "json").stdout
    every = json.loads(found)["items"]
    marked = "app.kubernetes.io/managed-by"
    return {
        it["metadata"]["name"]: it["rules"]
        for it in every
        if it["metadata"].get("labels", {}).get(marked) == "Helm" and "aggregationRule" not in it
    }


def _rules_of(rendered: str) -> dict[str, Any]:
    every = yaml.load_all(rendered, yaml.CSafeLoader)
    return {
        it["metadata"]["name"]: it["rules"]
        for it in every
        if it and it["kind"] == "ClusterRole" and "aggregationRule" not in it
    }


def _settle(own: Cluster) -> None:
    """Until what a cluster makes in a fresh namespace by itself is there."""
    wait(lambda: "configmap/kube-root-ca.crt" in _objects(own, "configmaps"), "the namespace")


def _objects(own: Cluster, kinds: str = KINDS) -> str:
    found = own.kubectl("get", kinds, "-n", "ingress", "-o", "name", "--ignore-not-found")
    return found.stdout


def _images(own: Cluster) -> str:
    path = "jsonpath={.items[*].spec.template.spec.containers[*].image}"
    return own.kubectl("get", "deployments", "-n", "ingress", "-o", path).stdout


def _left(own: Cluster) -> list[str]:
    """What is ours, or has Helm's mark, beside the CRDs."""
    marks = ("app.kubernetes.io/part-of=contour", "app.kubernetes.io/managed-by=Helm", "owner=helm")
    arguments = ("get", KINDS, "-n", "ingress", "-o", "name")
    return [line for it in marks for line in own.kubectl(*arguments, "-l", it).stdout.splitlines()]
