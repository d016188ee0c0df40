"""F65: an object of somebody else has the name of one of ours: it is told of, and never touched.

Before anything is begun nothing is made at all; later, everything else is still looked after.
"""

import signal
from collections.abc import Iterator
from random import Random
from typing import Any

from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating import stage
from hack.measuring.operating.stage import Site, blocking, clustered, operated
from tests.contour.infrastructure import rig as fleets
from tests.operator import operators
from tests.operator.operators import Rig

Raw = dict[str, Any]

CHANGED, MADE = Limit("", 0), Limit("", 0)


@fault("f65", operated, patience=120, changed=CHANGED, made=MADE)
@blocking
def names_of_the_operator_taken(turn: Turn, site: Rig) -> None:
    """Some names are taken before the configuration is there; it can be deleted, or waits."""
    with operators.in_a_namespace(site) as rig:
        theirs = [rig.cluster.create(it) for it in _some(turn.chance, _of_the_operator(rig))]
        rig.configure()
        rig.until(lambda: rig.reason() == "NotOurs")
        told = rig.condition("Provisioned")["message"]
        turn.prove("told", told)
        turn.expect(any(_named(it) in told for it in theirs), "the condition names none of them")
        turn.figures["made"] = len(rig.children())
        turn.figures["changed"] = sum(_is_changed(rig, it) for it in theirs)
        if turn.chance.random() < 0.5:
            stage.remove(rig)
            turn.figures["changed"] += sum(_is_changed(rig, it) for it in theirs)
        else:
            for it in theirs:
                rig.cluster.delete(it)
            rig.until_provisioned()
            stage.remove(rig)


@fault("f65-later", operated, patience=120, changed=CHANGED, left=Limit("", 0))
@blocking
def name_of_a_child_taken(turn: Turn, site: Rig) -> None:
    """While the operator is frozen a child is replaced by somebody else's object of that name."""
    with operators.in_a_namespace(site) as rig:
        rig.configure()
        rig.until_provisioned()
        (their,) = turn.chance.sample([*_of_the_operator(rig)], 1)
        (process,) = (it.process for it in rig.operators)
        process.send_signal(signal.SIGSTOP)
        try:
            stage.merge(rig.cluster, their, {"metadata": {"finalizers": None}})
            rig.cluster.delete(their)
            rig.until(lambda: rig.is_gone(their))
            their = rig.cluster.create(their)
        finally:
            process.send_signal(signal.SIGCONT)
        rig.until(lambda: rig.reason() == "NotOurs")
        told = rig.condition("Provisioned")["message"]
        turn.prove("told", told)
        turn.expect(_named(their) in told, "the condition does not name it")
        others = [it for it in rig.children().values() if it["kind"] != "Secret"]
        other = turn.chance.choice(others)
        rig.cluster.delete(other)
        rig.until(lambda: not rig.is_gone(other))
        stage.remove(rig)
        turn.figures["changed"] = _is_changed(rig, their)
        turn.figures["left"] = len(rig.children())


@fault("f65-fleet", clustered, patience=120, changed=CHANGED, made=MADE)
async def names_of_the_fleet_taken(turn: Turn, site: Site) -> None:
    """Likewise for the objects of a fleet."""
    with site.namespace() as namespace:
        rig = fleets.rig(site.cluster, namespace)
        fleet = turn.chance.choice((fleets.SHARED, fleets.of(type="Deployment", replicas=0)))
        kinds = fleets.AS_A_DAEMON_SET
        kinds = kinds if fleet is fleets.SHARED else fleets.AS_A_DEPLOYMENT
        every = [it for it in _of_the_fleet(rig) if it["kind"] in kinds]
        theirs = [site.cluster.create(it) for it in _some(turn.chance, every)]
        rig.want(fleet)
        async with fleets.leading(rig):
            await rig.until(lambda: "contour" in rig.told and bool(rig.told["contour"]))
            told = " ".join(it.message for it in rig.told["contour"])
            turn.prove("told", told)
            turn.expect(any(_named(it) in told for it in theirs), "none of them is named")
            turn.figures["made"] = len(rig.made()) - len(theirs)
            turn.figures["changed"] = sum(_is_changed(rig, it) for it in theirs)
            for it in theirs:
                site.cluster.delete(it)
            await rig.until_kinds(kinds)
            await rig.until_told("")


def _some(chance: Random, every: Iterator[Raw] | list[Raw]) -> list[Raw]:
    found = [*every]
    return chance.sample(found, chance.randint(1, 3))


def _of_the_operator(rig: Rig) -> Iterator[Raw]:
    """Objects that somebody else has made, of each kind, with names that are ours."""
    where = {"name": "contour", "namespace": rig.namespace}
    for kind in ("Deployment", "Service", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy"):
        yield _foreign(kind, where)
    yield _foreign("Secret", where | {"name": "contourcert"})
    yield _foreign("Secret", where | {"name": "envoycert"})
    yield _foreign("ClusterRoleBinding", {"name": f"contour-{rig.namespace}"})


def _of_the_fleet(rig: fleets.Rig) -> Iterator[Raw]:
    for kind in fleets.VERSIONS:
        yield _foreign(kind, {"name": "envoy", "namespace": rig.namespace})


def _foreign(kind: str, metadata: Raw) -> Raw:
    labels = {"app.kubernetes.io/managed-by": "somebody"}
    document = {"kind": kind, "metadata": metadata | {"labels": labels}}
    return document | _SPECS[kind]


_APP = {"matchLabels": {"app": "theirs"}}
_POD = {
    "metadata": {"labels": {"app": "theirs"}},
    "spec": {"containers": [{"name": "theirs", "image": "example.com/theirs"}]},
}
_NOBODY = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nothing"}
_SPECS: dict[str, Raw] = {
    "Deployment": {
        "apiVersion": "apps/v1",
        "spec": {"replicas": 0, "selector": _APP, "template": _POD},
    },
    "DaemonSet": {"apiVersion": "apps/v1", "spec": {"selector": _APP, "template": _POD}},
    "Service": {"apiVersion": "v1", "spec": {"ports": [{"port": 80}]}},
    "ServiceAccount": {"apiVersion": "v1"},
    "Secret": {"apiVersion": "v1", "data": {"theirs": "eA=="}},
    "PodDisruptionBudget": {"apiVersion": "policy/v1", "spec": {"selector": _APP}},
    "NetworkPolicy": {"apiVersion": "networking.k8s.io/v1", "spec": {"podSelector": _APP}},
    "ClusterRoleBinding": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "roleRef": _NOBODY,
        "subjects": [],
    },
}


def _named(obj: Raw) -> str:
    metadata = obj["metadata"]
    where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{obj['kind']} {where}{metadata['name']}"


def _is_changed(rig: Rig | fleets.Rig, before: Raw) -> bool:
    """By anybody but the controllers of the cluster, who write statuses."""
    return _told(before) != _told(rig.cluster.get(before))


def _told(obj: Raw) -> Raw:
    metadata = obj["metadata"]
    of_whom = [it for it in metadata["managedFields"] if it.get("subresource") != "status"]
    writers = sorted(it["manager"] for it in of_whom if it["manager"] != "kube-controller-manager")
    found = {it: metadata.get(it) for it in ("uid", "labels", "ownerReferences", "finalizers")}
    return {**stage.essence(obj), **found, "writers": writers}
