"""What somebody removes or edits is put right; what is somebody else's is left alone."""

import statistics
from typing import Any

import pytest

from tests.cluster.cluster import MEDIA
from tests.operator.operators import Rig, cluster_wide

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

SOON = 5.0  # seconds


@pytest.fixture
def provisioned(rig: Rig) -> Rig:
    """An instance."""
    rig.start()
    rig.configure()
    rig.until_provisioned()
    return rig


def test_each_child_that_is_removed_comes_back(provisioned: Rig) -> None:
    rig, times = provisioned, []
    before = rig.children()
    for key, child in before.items():
        uid = child["metadata"]["uid"]
        rig.cluster.delete(child)

        def is_back(key: Any = key, uid: str = uid) -> bool:
            found = rig.children().get(key)
            return found is not None and found["metadata"]["uid"] != uid

        times.append(rig.until(is_back, SOON))
    assert rig.children().keys() == before.keys()
    assert statistics.median(times) < SOON / 2


_EDITS: dict[str, Raw] = {
    "Deployment": {"spec": {"replicas": 7}},
    "Service": {"spec": {"ports": [{"name": "xds", "port": 8001, "targetPort": 9999}]}},
    "NetworkPolicy": {"spec": {"ingress": [{}]}},
    "PodDisruptionBudget": {"spec": {"maxUnavailable": 100}},
    "Role": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "RoleBinding": {"subjects": []},
    "ClusterRoleBinding": {"subjects": []},
    "ServiceAccount": {"automountServiceAccountToken": True},
    "Secret": {"data": {"tls.crt": ""}},
}


def test_each_child_that_is_edited_is_put_right_and_what_was_added_stays(provisioned: Rig) -> None:
    rig = provisioned
    for key, child in rig.children().items():
        kind, _, name = key
        if name == "contour-authority":
            continue
        path = rig.cluster.path(child)
        edit: Raw = {"metadata": {"annotations": {"example.com/added": "1"}}, **_EDITS[kind]}
        (field,) = _EDITS[kind]
        edited = rig.cluster.ask("PATCH", path, edit, MEDIA["merge"])
        assert edited.get(field) != child[field]

        def is_right(child: Raw = child, field: str = field) -> bool:
            found = rig.cluster.get(child)
            if child["kind"] == "Secret":
                return bool(found["data"]["tls.crt"])
            return bool(found.get(field) == child[field])

        rig.until(is_right, SOON)
        assert rig.cluster.get(child)["metadata"]["annotations"]["example.com/added"] == "1"


def test_an_autoscaler_is_not_fought(provisioned: Rig) -> None:
    rig = provisioned
    deployment = rig.children()["Deployment", rig.namespace, "contour"]
    path = rig.cluster.path(deployment)
    rig.cluster.ask(
        "PATCH", f"{path}/scale", {"spec": {"replicas": 5}}, MEDIA["merge"],
        fieldManager="kube-controller-manager",
    )  # fmt: skip
    edit = {"spec": {"template": {"spec": {"serviceAccountName": "somebody"}}}}
    rig.cluster.ask("PATCH", path, edit, MEDIA["merge"])
    spec = deployment["spec"]["template"]["spec"]

    def is_repaired() -> bool:
        found = rig.cluster.get(deployment)["spec"]["template"]["spec"]
        return bool(found["serviceAccountName"] == spec["serviceAccountName"])

    rig.until(is_repaired, SOON)
    assert rig.cluster.get(deployment)["spec"]["replicas"] == 5


def test_an_object_of_somebody_else_is_refused_and_nothing_is_begun(rig: Rig) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "contour", "namespace": rig.namespace},
        "spec": {"ports": [{"port": 80}]},
    }
    before = rig.cluster.create(foreign)
    rig.start()
    rig.configure()
    rig.until(lambda: rig.condition("Provisioned").get("reason") == "NotOurs")
    assert f"Service {rig.namespace}/contour" in rig.condition("Provisioned")["message"]
    assert rig.children() == {}
    stored = rig.cluster.get(rig.configuration())
    assert not stored["metadata"].get("finalizers")
    after = rig.cluster.get(foreign)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    rig.cluster.delete(foreign)
    rig.until_provisioned()


def test_bindings_follow_the_namespaces_that_are_watched(rig: Rig) -> None:
    one, two = rig.cluster.namespace("watched"), rig.cluster.namespace("watched")
    everywhere = cluster_wide("ClusterRoleBinding", f"contour-{rig.namespace}")
    rig.start()
    rig.configure()
    rig.until_provisioned()
    assert not rig.is_gone(everywhere)
    rig.configure(contour={"watchNamespaces": [one, two]})
    rig.until(lambda: _bound(rig) == {rig.namespace, one, two})
    rig.until(lambda: rig.is_gone(everywhere))
    rig.configure(contour={"watchNamespaces": [one, "no-such-namespace"]})
    rig.until(lambda: _bound(rig) == {rig.namespace, one})
    rig.until(lambda: rig.condition("Provisioned").get("reason") == "Invalid")
    assert "spec.contour.watchNamespaces[1]" in rig.condition("Provisioned")["message"]
    rig.cluster.delete(rig.configuration())
    rig.until(lambda: rig.is_gone(rig.configuration()))
    assert rig.children() == {}
    for name in (one, two):
        rig.cluster.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _bound(rig: Rig) -> set[str]:
    found = rig.children()
    return {
        namespace
        for kind, namespace, name in found
        if kind == "RoleBinding" and name.startswith("contour-resources-")
    }
