"""F63 and F64: what somebody removes or edits is as it was within seconds, all kinds, in any order.

What is others' stays through each repair: fields, labels and annotations that they have added, the
replicas of an autoscaler, and what clouds and the API server have assigned.
"""

import functools
from collections.abc import Mapping
from typing import Any

from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating import stage
from hack.measuring.operating.stage import Site, blocking, clustered, operated
from tests.cluster.cluster import RefusedError
from tests.contour.infrastructure import rig as fleets
from tests.operator.operators import Rig

Raw = dict[str, Any]

REPAIRED = Limit("s", 5)
FOREIGN = {"example.com/foreign": "theirs"}


@fault("f63", operated, patience=180, repaired=REPAIRED)
@blocking
def child_of_the_operator_removed(turn: Turn, site: Rig) -> None:
    """Every child, one after the other, in an order of chance."""
    with stage.provisioned(site) as rig:
        children = rig.children()
        for child in turn.chance.sample([*children.values()], len(children)):
            rig.cluster.delete(child)
            seconds = rig.until(functools.partial(_is_another, rig, child))
            _note(turn, child, seconds)
        turn.expect(rig.children().keys() == children.keys(), "more or less than before")


@fault("f63-fleet", clustered, patience=180, repaired=REPAIRED)
async def object_of_the_fleet_removed(turn: Turn, site: Site) -> None:
    """All kinds of a Deployment's fleet, and of a DaemonSet's."""
    with site.namespace() as namespace:
        rig = fleets.rig(site.cluster, namespace)
        async with fleets.leading(rig):
            for type_ in turn.chance.sample(("DaemonSet", "Deployment"), 2):
                await _kept(rig, type_)
                objects = rig.made()
                for it in turn.chance.sample([*objects.values()], len(objects)):
                    site.cluster.delete(it)
                    seconds = await rig.until(functools.partial(_is_another, rig, it))
                    _note(turn, it, seconds)


@fault("f64", operated, patience=180, repaired=REPAIRED, taken=Limit("", 0))
@blocking
def child_of_the_operator_edited(turn: Turn, site: Rig) -> None:
    """One edit of each child, together with something that is added to it."""
    with stage.provisioned(site) as rig:
        children = [it for (_, _, name), it in rig.children().items() if "authority" not in name]
        for child in turn.chance.sample(children, len(children)):
            edit = turn.chance.choice(_OF_THE_OPERATOR[child["kind"]])
            edited = _edit(rig, child, edit)
            turn.prove(f"{child['kind']} edited", not _is_as_before(child, edited))
            seconds = rig.until(functools.partial(_is_repaired, rig, child))
            _note(turn, child, seconds)
            _count_taken(turn, child, not _is_kept(rig.cluster.get(child)))
        deployment = rig.children()["Deployment", rig.namespace, "contour"]
        replicas = _scaled(turn, rig, deployment)
        _edit(rig, deployment, turn.chance.choice(_PODS("contour")))
        rig.until(functools.partial(_has_its_pods, rig, deployment))
        found = rig.cluster.get(deployment)["spec"]["replicas"]
        _count_taken(turn, deployment, found != replicas)


@fault("f64-fleet", clustered, patience=180, repaired=REPAIRED, taken=Limit("", 0))
async def object_of_the_fleet_edited(turn: Turn, site: Site) -> None:
    """Likewise; the Service keeps what a cloud has assigned."""
    with site.namespace() as namespace:
        rig = fleets.rig(site.cluster, namespace)
        async with fleets.leading(rig):
            for type_ in turn.chance.sample(("DaemonSet", "Deployment"), 2):
                await _kept(rig, type_)
                assigned = _assigned(rig)
                objects = [*rig.made().values()]
                for it in turn.chance.sample(objects, len(objects)):
                    edited = _edit(rig, it, turn.chance.choice(_OF_THE_FLEET[it["kind"]]))
                    turn.prove(f"{it['kind']} edited", not _is_as_before(it, edited))
                    seconds = await rig.until(functools.partial(_is_repaired, rig, it))
                    _note(turn, it, seconds)
                    _count_taken(turn, it, not _is_kept(site.cluster.get(it)))
                service = rig.made()["Service"]
                _count_taken(turn, service, _cloud(service) != assigned)
            await _kept(rig, "Deployment")
            deployment = rig.made()["Deployment"]
            replicas = _scaled(turn, rig, deployment)
            _edit(rig, deployment, turn.chance.choice(_PODS("envoy")))
            await rig.until(functools.partial(_has_its_pods, rig, deployment))
            found = rig.made()["Deployment"]["spec"]["replicas"]
            _count_taken(turn, deployment, found != replicas)


AnyRig = Rig | fleets.Rig


def _note(turn: Turn, obj: Raw, seconds: float) -> None:
    turn.sample("repaired", seconds)
    turn.sample(obj["kind"], seconds)


def _count_taken(turn: Turn, obj: Raw, is_taken: bool) -> None:
    """Something of others is not there any more."""
    turn.figures.setdefault("taken", 0)
    if is_taken:
        turn.figures["taken"] += 1
        turn.proofs.setdefault("taken", []).append(f"{obj['kind']} {obj['metadata']['name']}")


def _is_another(rig: AnyRig, child: Raw) -> bool:
    try:
        found = rig.cluster.get(child)
    except RefusedError:
        return False
    return bool(found["metadata"]["uid"] != child["metadata"]["uid"])


async def _kept(rig: fleets.Rig, type_: str) -> None:
    kinds = fleets.AS_A_DAEMON_SET if type_ == "DaemonSet" else fleets.AS_A_DEPLOYMENT
    rig.want(fleets.of(type=type_, replicas=0))
    await rig.until_kinds(kinds)
    await rig.until_told("")


def _edit(rig: AnyRig, obj: Raw, edit: Raw) -> Raw:
    """Beside it, an annotation and a label are added."""
    added: Raw = {"metadata": {"annotations": FOREIGN, "labels": FOREIGN}}
    metadata = {**added["metadata"], **edit.get("metadata", {})}
    if "labels" in edit.get("metadata", {}):
        metadata["labels"] = FOREIGN | edit["metadata"]["labels"]
    media = "application/strategic-merge-patch+json"
    path, change = rig.cluster.path(obj), {**edit, "metadata": metadata}
    return rig.cluster.ask("PATCH", path, change, media, fieldManager="kubectl-edit")


def _is_repaired(rig: AnyRig, before: Raw) -> bool:
    return _is_as_before(before, rig.cluster.get(before))


def _is_as_before(before: Raw, found: Raw) -> bool:
    """Certificates may be other ones, if they are whole."""
    if before["kind"] == "Secret":
        return all(found["data"].get(it) for it in before["data"])
    labels = found["metadata"].get("labels", {})
    is_labelled = all(labels.get(k) == v for k, v in before["metadata"]["labels"].items())
    return is_labelled and stage.essence(found) == stage.essence(before)


def _is_kept(found: Raw) -> bool:
    metadata = found["metadata"]
    return all(FOREIGN.items() <= metadata[it].items() for it in ("annotations", "labels"))


def _scaled(turn: Turn, rig: AnyRig, deployment: Raw) -> int:
    """As a HorizontalPodAutoscaler does it."""
    replicas = turn.chance.randint(3, 9)
    rig.cluster.ask(
        "PATCH", f"{rig.cluster.path(deployment)}/scale", {"spec": {"replicas": replicas}},
        "application/merge-patch+json", fieldManager="kube-controller-manager",
    )  # fmt: skip
    return replicas


def _has_its_pods(rig: AnyRig, deployment: Raw) -> bool:
    found: Raw = rig.cluster.get(deployment)["spec"]
    return bool(found["template"] == deployment["spec"]["template"])


def _assigned(rig: fleets.Rig) -> Raw:
    """What a cloud has told of the Service, and what the API server has given it."""
    address = {"ingress": [{"ip": "203.0.113.7"}]}
    service = rig.made()["Service"]
    path = f"{rig.cluster.path(service)}/status"
    media = "application/merge-patch+json"
    change = {"status": {"loadBalancer": address}}
    rig.cluster.ask("PATCH", path, change, media, fieldManager="cloud-controller-manager")
    added: Raw = {"metadata": {"finalizers": ["example.com/balancer"]}}
    return _cloud(stage.merge(rig.cluster, service, added, "cloud-controller-manager"))


def _cloud(service: Raw) -> Raw:
    spec = service["spec"]
    fields = ("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies")
    assigned = {it: spec.get(it) for it in fields}
    ports = [it.get("nodePort") for it in spec["ports"]]
    finalizers = service["metadata"].get("finalizers")
    return assigned | {"ports": ports, "at": service["status"], "held": finalizers}


def _PODS(name: str) -> tuple[Raw, ...]:  # noqa: N802 -- a table with a hole
    """What people do to the pods of a workload."""

    def of(**pod: Any) -> Raw:
        return {"spec": {"template": {"spec": pod}}}

    return (
        of(containers=[{"name": name, "image": "example.com/other:1"}]),
        of(containers=[{"name": name, "args": ["--help"]}]),
        of(containers=[{"name": name, "imagePullPolicy": "Never"}]),
        of(serviceAccountName="somebody"),
        of(terminationGracePeriodSeconds=1),
    )


_LABELS: Raw = {"metadata": {"labels": {"app.kubernetes.io/name": "other"}}}
_SERVICE: tuple[Raw, ...] = (
    {"spec": {"selector": {"app": "other"}}},
    _LABELS,
)
_POLICY: tuple[Raw, ...] = (
    {"spec": {"podSelector": {"matchLabels": {"app": "all"}}}},
    {"spec": {"ingress": [{}]}},
    _LABELS,
)
_BUDGET: tuple[Raw, ...] = ({"spec": {"maxUnavailable": 100}}, _LABELS)
_ACCOUNT: tuple[Raw, ...] = ({"automountServiceAccountToken": True}, _LABELS)
_BINDING: tuple[Raw, ...] = ({"subjects": []}, _LABELS)

_OF_THE_OPERATOR: Mapping[str, tuple[Raw, ...]] = {
    "Deployment": (*_PODS("contour"), {"spec": {"replicas": 7}}, _LABELS),
    "Service": (
        {"spec": {"ports": [{"name": "xds", "port": 8001, "targetPort": 9999}]}},
        *_SERVICE,
    ),
    "NetworkPolicy": _POLICY,
    "PodDisruptionBudget": _BUDGET,
    "Role": ({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, _LABELS),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "ServiceAccount": _ACCOUNT,
    "Secret": ({"data": {"tls.crt": ""}}, {"data": {"tls.key": ""}}, {"data": {"ca.crt": ""}}),
}
_OF_THE_FLEET: Mapping[str, tuple[Raw, ...]] = {
    "Deployment": (*_PODS("envoy"), {"spec": {"replicas": 7}}, _LABELS),
    "DaemonSet": (*_PODS("envoy"), _LABELS),
    "Service": (
        {"spec": {"ports": [{"port": 80, "targetPort": 9999}]}},
        *_SERVICE,
    ),
    "NetworkPolicy": _POLICY,
    "PodDisruptionBudget": _BUDGET,
    "ServiceAccount": _ACCOUNT,
}
