"""An operator that is early, powerless or cut off: it says so, waits, and goes on.

Installed as its documents say, by kubectl; only its pods are processes here.
"""

from pathlib import Path

import pytest

from tests.cluster import assets
from tests.cluster.cluster import OURS, Cluster
from tests.cluster.fixtures import Start
from tests.operator.operators import Rig, cluster_wide

MANIFEST = assets.ROOT / "manifests" / "operator.yaml"

pytestmark = pytest.mark.cluster


def test_one_that_came_before_the_crds_and_its_rights_waits_for_both_and_outlives_an_outage(
    start_control_plane: Start, tmp_path: Path
) -> None:
    control_plane = start_control_plane()
    cluster = Cluster(control_plane.folder)
    _install(cluster)
    rig = Rig(cluster, "contour-operator", "instance", tmp_path, cluster.namespace("instance"))
    rig.until(lambda: len(_pods(cluster)) == 2)
    rights = cluster.get(cluster_wide("ClusterRole", "contour-operator"))
    cluster.delete(rights)
    operator = rig.start()
    log = operator.log.read_text
    try:
        rig.until(lambda: "cannot watch" in log())
        cluster.install_crds(OURS)
        rig.configure()
        _install(cluster)
        rig.until_provisioned()
        deployment = rig.children()["Deployment", rig.namespace, "contour"]
        control_plane.stop_apiserver()
        rig.until(lambda: "is no longer the leader" in log())
        control_plane.start_apiserver()
        cluster.delete(deployment)
        rig.until(lambda: ("Deployment", rig.namespace, "contour") in rig.children())
        rig.cluster.delete(rig.configuration())
        rig.until(lambda: rig.is_gone(rig.configuration()))
        assert rig.children() == {}
        _replace_the_crd(rig)
        rig.configure()
        rig.until_provisioned()
        assert operator.stop() < 5
        assert operator.code == 0
        assert "Traceback" not in log()
    finally:
        operator.kill()


def _replace_the_crd(rig: Rig) -> None:
    """As somebody does who deletes our CRD and applies it again."""
    old = cluster_wide("CustomResourceDefinition", "contourconfigurations.projectcontour.io")
    old["apiVersion"] = "apiextensions.k8s.io/v1"
    rig.cluster.delete(old)
    rig.until(lambda: rig.is_gone(old))  # what is applied to one that is going goes with it
    rig.cluster.install_crds(OURS)


def _install(cluster: Cluster) -> None:
    done = cluster.kubectl("apply", "-f", str(MANIFEST))
    assert done.returncode == 0, done.stderr


def _pods(cluster: Cluster) -> list[object]:
    """The namespace takes them: it is closed to those that want more than it allows."""
    found = cluster.ask("GET", "/api/v1/namespaces/contour-operator/pods")
    return list(found["items"])
