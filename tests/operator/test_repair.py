"""What somebody removes or edits is put right; what is somebody else's is left alone."""

import statistics
from collections.abc import Sequence
from typing import Any

import pytest

from provisioning.keeping.ownership import Owner
from tests.cluster import webhooks
from tests.operator import inprocess
from tests.operator.operators import Rig, cluster_wide
from tests.operator.proxy import Proxy, Request
from tests.testbed.apiserver import MEDIA
from tests.testbed.processes import settled

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

SOON = 5.0  # seconds


@pytest.fixture
def provisioned(operated: Rig) -> Rig:
    """An instance."""
    operated.configure()
    operated.until_provisioned()
    return operated


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


_POD = "/spec/template/spec"
_ADDITIONS: Sequence[tuple[str, str, Any]] = (
    ("Deployment", f"{_POD}/hostNetwork", True),
    ("Deployment", f"{_POD}/containers/-", {"name": "more", "image": "theirs:1"}),
    ("Deployment", f"{_POD}/containers/0/env/-", {"name": "MORE", "value": "1"}),
    ("Deployment", f"{_POD}/containers/0/args/-", "--debug"),
    ("Deployment", f"{_POD}/containers/0/securityContext/runAsUser", 0),
    ("Deployment", f"{_POD}/volumes/-", {"name": "root", "hostPath": {"path": "/"}}),
    ("Service", "/spec/ports/-", {"name": "more", "port": 9001}),
    ("Service", "/spec/ports/0/port", 8123),
    ("Service", "/spec/selector/mine", "yes"),
    ("NetworkPolicy", "/spec/podSelector/matchLabels/no", "pod"),
    ("NetworkPolicy", "/spec/ingress/-", {}),
    ("PodDisruptionBudget", "/spec/selector/matchLabels/no", "pod"),
    ("Role", "/rules/-", {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
    ("RoleBinding", "/subjects/-", {"kind": "ServiceAccount", "name": "me", "namespace": "me"}),
)


def test_what_was_added_to_a_child_goes_and_the_whole_of_it_is_as_it_was(provisioned: Rig) -> None:
    rig, children = provisioned, provisioned.children()
    for kind, field, value in _ADDITIONS:
        before = next(it for key, it in children.items() if key[0] == kind)
        patch = [{"op": "add", "path": field, "value": value}]
        edited = rig.cluster.ask("PATCH", rig.cluster.path(before), patch, MEDIA["json"])
        assert _essence(edited) != _essence(before), field
        rig.until(lambda it=before: _essence(rig.cluster.get(it)) == _essence(it))  # type: ignore[misc]
    rig.until_provisioned()
    assert rig.condition("Provisioned")["message"] == "All objects are as they should be"


def _essence(found: Raw) -> Raw:
    return {key: it for key, it in found.items() if key not in {"metadata", "status"}}


def test_what_a_webhook_adds_to_a_child_is_told_and_not_fought(operated: Rig) -> None:
    patch = [{"op": "add", "path": f"{_POD}/containers/0/env/-", "value": {"name": "INJECTED"}}]
    with webhooks.adding(operated.cluster, operated.namespace, "deployments", patch):
        operated.configure()
        operated.until_provisioned()
        told = "spec.template.spec.containers[contour].env[INJECTED], which is left so"
        operated.until(lambda: told in operated.condition("Provisioned")["message"])
        key = ("Deployment", operated.namespace, "contour")
        settled(lambda: operated.children()[key]["metadata"]["resourceVersion"])
        assert operated.condition("Provisioned")["status"] == "True"


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


async def test_an_autoscaler_that_comes_between_look_and_write_is_not_fought(rig: Rig) -> None:
    rig.configure()
    await inprocess.live(rig.access(), Owner(rig.namespace, "contour"))
    deployment = rig.children()["Deployment", rig.namespace, "contour"]
    path, pending = rig.cluster.path(deployment), [5]

    def scale(request: Request, _: int) -> None:
        if request.path == path and pending:
            rig.cluster.ask(
                "PATCH", f"{path}/scale", {"spec": {"replicas": pending.pop()}}, MEDIA["merge"],
                fieldManager="kube-controller-manager",
            )  # fmt: skip

    rig.configure(contour={"podAnnotations": {"example.com/added": "1"}})
    proxy = Proxy(rig.cluster)
    with proxy.running():
        proxy.answered = scale
        await inprocess.live(rig.access(proxy), Owner(rig.namespace, "contour"))
    found = rig.cluster.get(deployment)["spec"]
    assert not pending
    assert found["template"]["metadata"]["annotations"]["example.com/added"] == "1"
    assert found["replicas"] == 5


async def test_the_endpoints_that_kubernetes_keeps_for_a_service_stay(rig: Rig) -> None:
    """They have the labels of the Service."""

    def endpoints() -> set[str]:
        path = f"/apis/discovery.k8s.io/v1/namespaces/{rig.namespace}/endpointslices"
        return {it["metadata"]["uid"] for it in rig.cluster.ask("GET", path)["items"]}

    rig.configure()
    await inprocess.live(rig.access(), Owner(rig.namespace, "contour"))
    services = [it for it in rig.children() if it[0] == "Service"]
    rig.until(lambda: len(endpoints()) == len(services) > 0)
    before = endpoints()
    await inprocess.live(rig.access(), Owner(rig.namespace, "contour"))
    assert endpoints() == before


def test_an_object_of_somebody_else_is_refused_and_nothing_is_begun(operated: Rig) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "contour", "namespace": operated.namespace},
        "spec": {"ports": [{"port": 80}]},
    }
    before = operated.cluster.create(foreign)
    operated.configure()
    operated.until(lambda: operated.reason() == "NotOwned")
    assert f"Service {operated.namespace}/contour" in operated.condition("Provisioned")["message"]
    assert operated.children() == {}
    stored = operated.cluster.get(operated.configuration())
    assert not stored["metadata"].get("finalizers")
    after = operated.cluster.get(foreign)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    operated.cluster.delete(foreign)
    operated.until_provisioned()


def test_a_copy_in_another_namespace_is_not_taken_for_the_control_plane(provisioned: Rig) -> None:
    rig, elsewhere = provisioned, provisioned.cluster.namespace("elsewhere")
    original = rig.children()["Deployment", rig.namespace, "contour"]
    metadata = {key: original["metadata"][key] for key in ("name", "labels")}
    held = {"namespace": elsewhere, "finalizers": ["example.com/held"]}
    spec = original["spec"] | {"replicas": 9}
    copy = rig.cluster.create(original | {"metadata": metadata | held, "spec": spec})
    for kind in ("Deployment", "NetworkPolicy"):  # the copy is not the last that has changed
        child = rig.children()[kind, rig.namespace, "contour"]
        note = {"metadata": {"annotations": {"example.com/seen": "1"}}}
        rig.cluster.ask("PATCH", rig.cluster.path(child), note, MEDIA["merge"])
        told = settled(lambda: rig.condition("Available")["message"])
    assert told == "0 of 2 replicas of the control plane are available"
    rig.cluster.ask(
        "PATCH", rig.cluster.path(copy), {"metadata": {"finalizers": None}}, MEDIA["merge"]
    )


def test_bindings_follow_the_namespaces_that_are_watched(operated: Rig) -> None:
    one, two = operated.cluster.namespace("watched"), operated.cluster.namespace("watched")
    everywhere = cluster_wide("ClusterRoleBinding", f"contour-{operated.namespace}")
    operated.configure()
    operated.until_provisioned()
    assert not operated.is_gone(everywhere)
    operated.configure(contour={"watchNamespaces": [one, two]})
    operated.until(lambda: _bound(operated) == {operated.namespace, one, two})
    operated.until(lambda: operated.is_gone(everywhere))
    operated.configure(contour={"watchNamespaces": [one, "no-such-namespace"]})
    operated.until(lambda: _bound(operated) == {operated.namespace, one})
    operated.until(lambda: operated.reason() == "Invalid")
    assert "spec.contour.watchNamespaces[1]" in operated.condition("Provisioned")["message"]
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.children() == {}
    for name in (one, two):
        operated.cluster.delete_namespace(name)


def _bound(rig: Rig) -> set[str]:
    found = rig.children()
    return {
        namespace
        for kind, namespace, name in found
        if kind == "RoleBinding" and name.startswith("contour-resources-")
    }
