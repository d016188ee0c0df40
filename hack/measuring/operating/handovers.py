"""F70 and F75: handed over and taken back, and a specification of 300 KB.

What was handed over is its users': whatever they make of it stays until it is taken back.
"""

from dataclasses import replace
from typing import Any

from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating import stage
from hack.measuring.operating.stage import Site, blocking, clustered, operated
from tests.contour.infrastructure import rig as fleets
from tests.operator import operators
from tests.operator.operators import Rig

Raw = dict[str, Any]

TOUCHED, MADE_ANEW = Limit("", 0), Limit("", 0)
SIZE = 300_000


@fault("f70", operated, patience=120, touched=TOUCHED, made_anew=MADE_ANEW, resumed=Limit("s", 10))
@blocking
def instance_handed_over(turn: Turn, site: Rig) -> None:
    """Without `spec.contour` the operator has no say, until that is there again."""
    with operators.in_a_namespace(site) as rig:
        rig.configure()
        rig.until_provisioned()
        made = rig.children()
        stage.merge(rig.cluster, rig.configuration(), {"spec": {"contour": None}})
        rig.until(lambda: not rig.finalizers())
        edited, removed = turn.chance.sample(sorted(made), 2)
        stage.merge(
            rig.cluster, made[edited], {"metadata": {"annotations": {"example.com/mine": "1"}}}
        )
        rig.cluster.delete(made[removed])
        before = rig.children()
        turn.prove("removed", removed not in before)
        _wait_for_a_turn(rig)
        turn.figures["touched"] = _differing(before, rig.children())
        rig.configure()
        turn.figures["resumed"] = rig.until_provisioned()
        kept = {key: it for key, it in rig.children().items() if key != removed}
        turn.figures["made_anew"] = sum(_uid(it) != _uid(made[key]) for key, it in kept.items())
        turn.expect(rig.children().keys() == made.keys(), "not all is there again")
        stage.remove(rig)


@fault("f70-fleet", clustered, patience=120, touched=TOUCHED, made_anew=MADE_ANEW)
async def fleet_handed_over(turn: Turn, site: Site) -> None:
    """With `managed: false`; its users edit and remove, and nothing is repaired."""
    with site.namespace() as namespace:
        rig = fleets.rig(site.cluster, namespace)
        fleet = turn.chance.choice((fleets.SHARED, fleets.of(type="Deployment", replicas=0)))
        async with fleets.leading(rig) as infrastructure:
            rig.want(fleet)
            await rig.until(lambda: rig.told.get("contour") == ())
            made = rig.made()
            rig.want(replace(fleet, is_managed=False))
            await rig.until(lambda: not infrastructure.is_keeping)
            edited, removed = turn.chance.sample(sorted(made), 2)
            rig.edit(edited, {"metadata": {"labels": {"app.kubernetes.io/name": "mine"}}})
            site.cluster.delete(made[removed])
            before = rig.made()
            turn.prove("removed", removed not in before)
            # Another leader begins a term; and fleets are to be otherwise, but not by us.
            rig.want(replace(fleet, is_managed=False, ports=fleets.PORTS[:1]))
        async with fleets.leading(rig) as infrastructure:
            turn.expect(not infrastructure.is_keeping, "it is kept by the next leader")
            turn.figures["touched"] = _differing(before, rig.made())
            rig.want(fleet)
            await rig.until(lambda: rig.made().keys() == made.keys())
            await rig.until(lambda: _name(rig.made()[edited]) == _name(made[edited]))
            kept = {key: it for key, it in rig.made().items() if key != removed}
            found = sum(_uid(it) != _uid(made[key]) for key, it in kept.items())
            turn.figures["made_anew"] = found


@fault("f75", operated, patience=120, provisioned=Limit("s", 10), gone=Limit("s", 20))
@blocking
def huge_specification(turn: Turn, site: Rig) -> None:
    """Of 300 KB; it works, is changed, is copied nowhere, and can be deleted."""
    with operators.in_a_namespace(site) as rig:
        rig.configure(**_huge(turn))
        turn.figures["provisioned"] = rig.until_provisioned()
        rig.configure(**_huge(turn) | {"contour": {"replicas": 5}})
        deployment = rig.children()["Deployment", rig.namespace, "contour"]
        rig.until(lambda: rig.cluster.get(deployment)["spec"]["replicas"] == 5)
        stored = rig.cluster.get(rig.configuration())
        turn.prove("bytes", len(str(stored["spec"])) > SIZE)
        turn.expect(not stored["metadata"].get("annotations"), "it has been annotated")
        turn.figures["gone"] = stage.remove(rig)
        turn.expect(not rig.children(), "something is left")


def _huge(turn: Turn) -> Raw:
    """Default headers of all requests, and annotations of a Service and of pods."""
    size = turn.chance.choice((20, 100, 1000))
    headers = {f"x-{number}": "v" * size for number in range(SIZE // (size + 8) + 1)}
    annotation = {"example.com/big": "x" * turn.chance.randint(0, 200_000)}
    publishing = {"type": "ClusterIPService", "serviceAnnotations": annotation}
    return {
        "contour": {"podAnnotations": annotation},
        "envoy": {"networkPublishing": publishing},
        "policy": {"requestHeaders": {"set": headers}},
    }


def _wait_for_a_turn(rig: Rig) -> None:
    """Of another configuration, which the operator gets after all that was before."""
    with operators.in_a_namespace(rig) as other:
        other.configure()
        other.until_provisioned()
        stage.remove(other)


def _differing(before: dict[Any, Raw], after: dict[Any, Raw]) -> int:
    """Objects that were made, removed or written to."""
    keys = before.keys() | after.keys()
    return sum(_version(before.get(it)) != _version(after.get(it)) for it in keys)


def _version(obj: Raw | None) -> tuple[str, str]:
    return (_uid(obj), obj["metadata"]["resourceVersion"]) if obj is not None else ("", "")


def _uid(obj: Raw) -> str:
    return str(obj["metadata"]["uid"])


def _name(obj: Raw) -> str:
    return str(obj["metadata"]["labels"].get("app.kubernetes.io/name"))
