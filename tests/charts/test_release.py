"""The charts on a real API server: installed, upgraded from another version, uninstalled."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

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
Run = Callable[..., str]


@pytest.fixture(name="own")
def _own(start_control_plane: Start) -> Cluster:
    return Cluster(start_control_plane().folder)


@pytest.mark.parametrize("chart", ["contour", "contour-operator"])
def test_a_release_comes_changes_and_goes(own: Cluster, tmp_path: Path, chart: str) -> None:
    older = tmp_path / chart
    shutil.copytree(ROOT / "charts" / chart, older)
    description = older / "Chart.yaml"
    description.write_text(description.read_text().replace("version: 0.1.0", "version: 0.0.9"))

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
    run("upgrade", "x", ROOT / "charts" / chart, "--set", "image=registry.example.com/newer:2")
    assert "registry.example.com/newer:2" in _images(own)
    assert "registry.example.com/older:1" not in _images(own)
    history = json.loads(run("history", "x", "-o", "json"))
    assert [it["chart"] for it in history] == [f"{chart}-0.0.9", f"{chart}-0.1.0"]
    run("uninstall", "x")
    wait(lambda: not _left(own), "the end of all objects of the release")
    assert "httpproxies.projectcontour.io" in own.kubectl("get", "crds", "-o", "name").stdout


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
