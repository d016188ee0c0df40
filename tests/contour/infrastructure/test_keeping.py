"""A fleet is made, repaired and changed; what is others' is not touched. On the real API server."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crds.fleetdetails import Details, Service
from tests.cluster import webhooks
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.rig import (
    AS_A_DAEMON_SET,
    AS_A_DEPLOYMENT,
    PORTS,
    SHARED,
    Rig,
    leading,
    of,
)
from tests.testbed.processes import settled

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

REPAIRED = 15.0  # seconds; on a quiet machine it is a fraction of one


def _op(op: str, path: str, value: Any = None) -> Raw:
    """Of a JSON patch."""
    return {"op": op, "path": path} | ({} if op == "remove" else {"value": value})


_NO_MAXIMUM = _op("remove", "/spec/maxUnavailable")
_NO_POLICY = _op("remove", "/spec/externalTrafficPolicy")


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return rigs.rig(cluster, namespace)


async def test_what_was_removed_is_there_again_in_seconds(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        for kind in sorted(AS_A_DEPLOYMENT):
            uid = rig.made()[kind]["metadata"]["uid"]
            rig.cluster.delete(rig.named(kind))
            await rig.until(lambda k=kind, u=uid: _uid(rig, k) not in {"", u}, REPAIRED)  # type: ignore[misc]


_POD = "/spec/template/spec"
_EDITS: Sequence[tuple[str, Sequence[Raw]]] = (
    ("Service", [_op("replace", "/spec/ports/0/port", 8123)]),
    ("Service", [_op("replace", "/spec/ports/0/targetPort", 8123)]),
    ("Service", [_op("add", "/spec/ports/-", {"name": "more", "port": 9001})]),
    ("Service", [_op("remove", "/spec/ports/1")]),
    ("Service", [_op("add", "/spec/externalIPs", ["192.0.2.1"])]),
    ("Service", [_op("add", "/spec/selector/mine", "yes")]),
    ("Service", [_op("replace", "/spec/sessionAffinity", "ClientIP")]),
    ("Service", [_op("replace", "/spec/type", "ClusterIP"), _NO_POLICY]),
    ("Deployment", [_op("replace", "/spec/replicas", 7)]),
    ("Deployment", [_op("add", "/spec/paused", True)]),
    ("Deployment", [_op("add", f"{_POD}/hostNetwork", True)]),
    ("Deployment", [_op("add", f"{_POD}/hostPID", True)]),
    ("Deployment", [_op("add", f"{_POD}/containers/-", {"name": "more", "image": "theirs:1"})]),
    ("Deployment", [_op("add", f"{_POD}/initContainers/-", {"name": "first", "image": "a:1"})]),
    ("Deployment", [_op("add", f"{_POD}/containers/1/env/-", {"name": "MORE", "value": "1"})]),
    ("Deployment", [_op("add", f"{_POD}/containers/1/args/-", "--concurrency=1")]),
    ("Deployment", [_op("replace", f"{_POD}/containers/1/image", "theirs:1")]),
    ("Deployment", [_op("add", f"{_POD}/containers/1/securityContext/runAsUser", 0)]),
    ("Deployment", [_op("add", f"{_POD}/containers/1/readinessProbe/timeoutSeconds", 9)]),
    ("Deployment", [_op("replace", f"{_POD}/securityContext/runAsNonRoot", False)]),
    ("Deployment", [_op("replace", f"{_POD}/dnsPolicy", "Default")]),
    ("Deployment", [_op("add", f"{_POD}/volumes/-", {"name": "root", "hostPath": {"path": "/"}})]),
    ("Deployment", [_op("add", "/spec/template/metadata/labels/mine", "yes")]),
    ("NetworkPolicy", [_op("add", "/spec/podSelector/matchLabels/no", "pod")]),
    ("NetworkPolicy", [_op("add", "/spec/ingress/-", {})]),
    ("NetworkPolicy", [_op("add", "/spec/egress", [{}])]),
    ("PodDisruptionBudget", [_op("replace", "/spec/maxUnavailable", 2)]),
    ("PodDisruptionBudget", [_NO_MAXIMUM, _op("add", "/spec/minAvailable", 1)]),
    ("ServiceAccount", [_op("replace", "/automountServiceAccountToken", True)]),
)  # fmt: skip


async def test_whatever_was_edited_the_whole_object_is_as_it_was(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        await rig.until_told("")
        before = rig.made()
        for kind, edit in _EDITS:
            edited = rig.change(kind, edit)
            assert _essence(edited) != _essence(before[kind]), edit
            await _until_right(rig, kind, before, edit)
        await rig.until_told("")
        assert {kind: _essence(it) for kind, it in rig.made().items()} == {
            kind: _essence(it) for kind, it in before.items()
        }


async def test_what_is_the_users_stays_when_the_rest_is_put_right(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        before = rig.made()
        restarted = {"kubectl.kubernetes.io/restartedAt": "2030-01-01T00:00:00Z"}
        mine = {"example.com/mine": "yes"}
        rig.edit("Deployment", {
            "metadata": {"labels": mine},
            "spec": {
                "template": {"metadata": {"annotations": restarted}, "spec": {"hostPID": True}}
            },
        })  # fmt: skip
        rig.edit("Service", {
            "metadata": {"finalizers": ["example.com/mine"], "annotations": mine},
            "spec": {
                "loadBalancerIP": "192.0.2.9",
                "loadBalancerSourceRanges": ["192.0.2.0/24"],
                "externalIPs": ["192.0.2.1"],
            },
        })  # fmt: skip
        await rig.until(lambda: "hostPID" not in _pod(rig, "Deployment")["spec"], REPAIRED)
        await rig.until(lambda: "externalIPs" not in _spec(rig, "Service")["spec"], REPAIRED)
        after = rig.made()
        deployment, service = after["Deployment"], after["Service"]
        assert deployment["metadata"]["labels"].items() >= mine.items()
        assert _pod(rig, "Deployment")["metadata"]["annotations"].items() >= restarted.items()
        assert service["metadata"]["finalizers"] == ["example.com/mine"]
        assert service["metadata"]["annotations"].items() >= mine.items()
        assert service["spec"] == before["Service"]["spec"] | {
            "loadBalancerIP": "192.0.2.9",
            "loadBalancerSourceRanges": ["192.0.2.0/24"],
        }
        rig.change("Service", [_op("remove", "/metadata/finalizers")])


async def test_what_an_admission_webhook_adds_again_is_told_and_not_fought(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    added = [_op("add", f"{_POD}/containers/1/env/-", {"name": "INJECTED", "value": "COUNT"})]
    with webhooks.adding(rig.cluster, rig.namespace, "deployments", added):
        async with leading(rig):
            await rig.until_told(
                "sets spec.template.spec.containers[envoy].env[INJECTED], which is left so"
            )
            assert "INJECTED" in str(_pod(rig, "Deployment"))
            for n in range(8):  # whatever wakes the fleet
                rig.edit("Deployment", {"metadata": {"annotations": {"example.com/n": str(n)}}})
                await asyncio.sleep(0.2)
            await asyncio.to_thread(
                settled, lambda: rig.made()["Deployment"]["metadata"]["generation"]
            )
            assert "INJECTED" in str(_pod(rig, "Deployment"))
    async with leading(rig):
        await rig.until(lambda: "INJECTED" not in str(_pod(rig, "Deployment")))
        await rig.until_told("")


async def test_who_adds_the_same_again_and_again_is_not_fought(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        for _ in range(3):
            rig.change("Deployment", [_op("add", f"{_POD}/hostPID", True)])
            await rig.until(lambda: "hostPID" not in _pod(rig, "Deployment")["spec"], REPAIRED)
        rig.change("Deployment", [_op("add", f"{_POD}/hostPID", True)])
        await rig.until_told("sets spec.template.spec.hostPID, which is left so")
        assert _pod(rig, "Deployment")["spec"]["hostPID"]
        rig.change("Deployment", [_op("add", f"{_POD}/hostIPC", True)])
        await rig.until(lambda: "hostIPC" not in _pod(rig, "Deployment")["spec"], REPAIRED)


async def test_what_others_have_added_stays(rig: Rig) -> None:
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        note = {"metadata": {"annotations": {"cloud.example.com/it": "theirs"}}}
        rig.edit("Service", note, "cloud")
        made = rig.made()["Service"]["spec"]
        # Something of ours changes beside it.
        rig.want(replace(SHARED, ports=(PORTS[0],)))
        await rig.until(lambda: len(rig.made()["Service"]["spec"]["ports"]) == 1)
        service = rig.made()["Service"]
        assert service["metadata"]["annotations"] == note["metadata"]["annotations"]
        assert service["spec"]["clusterIP"] == made["clusterIP"]
        assert service["spec"]["ports"][0]["nodePort"] == made["ports"][0]["nodePort"]
        assert service["spec"]["healthCheckNodePort"] == made["healthCheckNodePort"]


async def test_an_autoscaler_is_not_fought(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        path = rig.cluster.path(rig.named("Deployment")) + "/scale"
        scale, media = {"spec": {"replicas": 5}}, "application/merge-patch+json"
        manager = "kube-controller-manager"
        rig.cluster.ask("PATCH", path, scale, media, fieldManager=manager)
        rig.edit("Deployment", {"spec": {"minReadySeconds": 3, "paused": True}})
        rig.want(of(type="Deployment", pod_annotations={"a": "b"}))
        await rig.until(lambda: "a" in _pod(rig, "Deployment")["metadata"]["annotations"])
        assert rig.made()["Deployment"]["spec"]["replicas"] == 5


async def test_an_object_of_somebody_else_is_told_of_and_nothing_is_begun(rig: Rig) -> None:
    service = rig.named("Service") | {"spec": {"ports": [{"port": 1}]}}
    version = rig.cluster.create(service)["metadata"]["resourceVersion"]
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_told(f"Service {rig.namespace}/envoy is there already")
        assert set(rig.made()) == {"Service"}
        assert rig.made()["Service"]["metadata"]["resourceVersion"] == version
        rig.cluster.delete(service)
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until_told("")


async def test_a_fleet_that_was_handed_over_is_left_as_it_is_until_it_is_kept_again(
    rig: Rig,
) -> None:
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        rig.want(replace(SHARED, is_managed=False))
        await rig.until(lambda: "contour" not in rig.told)
        edited = rig.edit("DaemonSet", {"spec": {"minReadySeconds": 7, **_with_image("mine:1")}})
        rig.cluster.delete(rig.named("NetworkPolicy"))
        rig.want(replace(SHARED, is_managed=False, ports=PORTS[:1]))
        assert "contour" not in rig.told
        assert _spec(rig, "DaemonSet") == _essence(edited)
        assert "NetworkPolicy" not in rig.made()
        rig.want(SHARED)
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until(lambda: "mine:1" not in _images(rig, "DaemonSet"))


async def test_who_leads_next_goes_on(rig: Rig) -> None:
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
    rig.cluster.delete(rig.named("Service"))
    rig.want(replace(SHARED, ports=PORTS[:1]))
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        assert len(rig.made()["Service"]["spec"]["ports"]) == 1


async def test_what_has_no_listener_is_not_begun_and_keeps_its_ports(rig: Rig) -> None:
    waiting = replace(SHARED, is_due=False)
    rig.want(waiting)
    async with leading(rig):
        await rig.until_told("there is no listener that Envoys could serve")
        assert rig.made() == {}
        rig.want(replace(SHARED, ports=PORTS[:1]))
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until_told("")
        rig.want(waiting)
        rig.cluster.delete(rig.named("DaemonSet"))
        uid = rig.made()["Service"]["metadata"]["uid"]
        await rig.until_kinds(AS_A_DAEMON_SET)
        service = rig.made()["Service"]
        assert service["metadata"]["uid"] == uid
        assert [it["port"] for it in service["spec"]["ports"]] == [80]


async def test_a_service_changes_its_type_in_place(rig: Rig) -> None:
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        uid = rig.made()["Service"]["metadata"]["uid"]
        ports = ({"name": "http", "port_number": 31234},)
        for publishing, node_port in (
            ({"type": "NodePortService"}, None),
            ({"type": "ClusterIPService"}, None),
            ({"type": "NodePortService", "node_ports": ports}, 31234),
        ):
            rig.want(of(publishing=publishing))
            type_ = publishing["type"].removesuffix("Service")  # type: ignore[attr-defined]
            await rig.until(lambda t=type_: rig.made()["Service"]["spec"]["type"] == t)  # type: ignore[misc]
            await rig.until_told("")
            service = rig.made()["Service"]
            assert service["metadata"]["uid"] == uid
            assert ("externalTrafficPolicy" in service["spec"]) == (type_ == "NodePort")
            found = service["spec"]["ports"][0].get("nodePort")
            assert (found is None) == (type_ == "ClusterIP")
            assert node_port in {None, found}


async def test_annotations_for_one_cloud_go_when_it_is_another(rig: Rig) -> None:
    aws = {"scope": "Internal", "provider_parameters": {"type": "AWS", "aws": {"type": "NLB"}}}
    gcp = {"scope": "Internal", "provider_parameters": {"type": "GCP"}}
    rig.want(of(publishing={"type": "LoadBalancerService", "load_balancer": aws}))
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        note = {"metadata": {"annotations": {"cloud.example.com/it": "theirs"}}}
        rig.edit("Service", note, "cloud")
        rig.want(of(publishing={"type": "LoadBalancerService", "load_balancer": gcp}))
        await rig.until(lambda: "networking.gke.io/load-balancer-type" in _annotations(rig))
        assert not [it for it in _annotations(rig) if "aws" in it]
        assert _annotations(rig)["cloud.example.com/it"] == "theirs"


@pytest.mark.parametrize("before", ["example.com/a", ""])
async def test_the_class_of_a_load_balancer_stays_and_all_else_is_as_it_should_be(
    rig: Rig, before: str
) -> None:
    def want(class_: str, *ranges: str) -> None:
        service = Service(load_balancer_class=class_, load_balancer_source_ranges=ranges)
        rig.want(replace(SHARED, details=Details(service=service)))

    def spec(field: str) -> Any:
        return rig.made()["Service"]["spec"].get(field)

    want(before)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        want("example.com/b", "192.0.2.0/24")
        await rig.until_told(f"cannot be changed from {before or 'none'} to example.com/b")
        assert spec("loadBalancerSourceRanges") == ["192.0.2.0/24"]
        want("example.com/b")
        await rig.until(lambda: spec("loadBalancerSourceRanges") is None)
        assert spec("loadBalancerClass") == (before or None)
        rig.cluster.delete(rig.named("Service"))
        await rig.until_told("")
        assert spec("loadBalancerClass") == "example.com/b"


async def test_one_workload_serves_before_the_other_goes(rig: Rig) -> None:
    """There are no nodes here: a Deployment of one never is available, one of none always."""
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        rig.want(of(type="Deployment", replicas=1))
        await rig.until_told(f"waits for the Envoys of Deployment {rig.namespace}/envoy")
        await rig.until_kinds(AS_A_DEPLOYMENT | {"DaemonSet"})
        rig.want(of(type="Deployment", replicas=0))
        await rig.until_kinds(AS_A_DEPLOYMENT)
        rig.want(SHARED)
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until_told("")


async def test_what_the_api_server_does_not_take_is_told(rig: Rig) -> None:
    amounts = {"requests": {"cpu": "a lot"}}
    rig.want(of(resources=amounts))
    async with leading(rig):
        await rig.until_told(f"DaemonSet {rig.namespace}/envoy: ")
        assert rig.made() == {}
        rig.want(SHARED)
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until_told("")


async def test_an_error_of_ours_is_told(rig: Rig) -> None:
    unheard_of: Raw = {"ports": None}  # the graph never has that
    rig.want(replace(SHARED, **unheard_of))
    async with leading(rig):
        await rig.until_told("an error that the log has")
        rig.want(SHARED)
        await rig.until_kinds(AS_A_DAEMON_SET)
        await rig.until_told("")


async def test_envoys_wait_for_the_control_plane_of_their_release(rig: Rig) -> None:
    """A Deployment of none is complete; one of one, without a node, is not and then has failed."""
    rig.want(SHARED)
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
    _control_plane(rig, replicas=1, image="contour:2", deadline=600)
    rig.release = replace(rig.release, image="contour:2")
    async with leading(rig):
        await rig.until_told("Envoys wait for the control plane: ")
        _control_plane(rig, replicas=1, image="contour:2")
        await rig.until_told("the control plane could not be rolled out, Envoys stay")
        assert "contour:2" not in _images(rig, "DaemonSet")
        _control_plane(rig, replicas=0, image="contour:3")
        await rig.until_told("Envoys wait for a control plane of the newest release")
        assert "contour:2" not in _images(rig, "DaemonSet")
        _control_plane(rig, replicas=0, image="contour:2")
        await rig.until(lambda: "contour:2" in _images(rig, "DaemonSet"))
        await rig.until_told("")


async def test_nothing_is_written_without_need(rig: Rig) -> None:
    rig.want(of(type="Deployment"))
    async with leading(rig):
        await rig.until_kinds(AS_A_DEPLOYMENT)
        await rig.until_told("")
        # Whatever the controllers of the cluster still write about themselves.
        await rig.until(lambda: _generation(rig) == 1 and "conditions" in _status(rig))
        before = rig.made()
        assert rig.infrastructure is not None
        for _ in range(5):
            rig.infrastructure.notice()
            await asyncio.sleep(0)
        rig.edit("Service", {"metadata": {"annotations": {"ours": "not"}}})
        await rig.until(lambda: _located(rig).get("ours") == "not")
        after = rig.made()
        for kind in sorted(AS_A_DEPLOYMENT - {"Service"}):
            assert _versions(after[kind]) == _versions(before[kind]), kind


async def _until_right(rig: Rig, kind: str, before: dict[str, Raw], edit: Sequence[Raw]) -> None:
    try:
        await rig.until(lambda: _spec(rig, kind) == _essence(before[kind]), REPAIRED)
    except AssertionError:
        assert _spec(rig, kind) == _essence(before[kind]), edit
        raise


def _uid(rig: Rig, kind: str) -> str:
    found = rig.made().get(kind)
    return "" if found is None else str(found["metadata"]["uid"])


def _essence(found: Raw) -> Raw:
    """All of it but what the cluster assigns."""
    essence = {key: it for key, it in found.items() if key not in {"metadata", "status"}}
    if found["kind"] == "Service":
        spec = {key: it for key, it in found["spec"].items() if key != "healthCheckNodePort"}
        ports = [{k: it for k, it in port.items() if k != "nodePort"} for port in spec["ports"]]
        essence["spec"] = spec | {"ports": ports}
    return essence


def _spec(rig: Rig, kind: str) -> dict[str, Any]:
    return _essence(rig.made()[kind])


def _pod(rig: Rig, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = rig.made()[kind]["spec"]["template"]
    return found


def _images(rig: Rig, kind: str) -> set[str]:
    pod = _pod(rig, kind)["spec"]
    return {it["image"] for it in (*pod["initContainers"], *pod["containers"])}


def _with_image(name: str) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "envoy", "image": name}]}}}


def _annotations(rig: Rig) -> dict[str, str]:
    found: dict[str, str] = rig.made()["Service"]["metadata"].get("annotations", {})
    return found


def _located(rig: Rig) -> dict[str, str]:
    found = rig.services.get("contour") or {"metadata": {}}
    return dict(found["metadata"].get("annotations", {}))


def _status(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = rig.made()["Deployment"]["status"]
    return found


def _generation(rig: Rig) -> int:
    return int(_status(rig).get("observedGeneration", 0))


def _versions(found: dict[str, Any]) -> tuple[str, list[str]]:
    """When we wrote last, and what else there is."""
    fields = found["metadata"]["managedFields"]
    return found["metadata"]["uid"], [it["time"] for it in fields if it["manager"] == "contour"]


def _control_plane(rig: Rig, replicas: int, image: str, deadline: int = 1) -> None:
    """A Deployment as the manifests have it, as far as it matters."""
    pod = {
        "metadata": {"labels": {"app": "contour"}},
        "spec": {"containers": [{"name": "contour", "image": image}]},
    }
    spec = {
        "replicas": replicas,
        "progressDeadlineSeconds": deadline,
        "selector": {"matchLabels": {"app": "contour"}},
        "template": pod,
    }
    rig.cluster.apply(rig.named("Deployment", "contour") | {"spec": spec})
