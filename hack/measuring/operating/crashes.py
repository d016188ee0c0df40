"""F62: operators and leaders die after any write; the next goes on, and nothing is left at the end.

In this process a death is an exception that nobody catches, so each write of a life can be the
last; operators are also killed as processes, before they learn that they have written.
"""

import time
from dataclasses import replace
from random import Random
from typing import Any

from contour_operator import desired, issuing
from crds import decode, workloads
from dag.fleets import Fleet
from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating.stage import Site, blocking, clustered
from provisioning.ownership import Owner
from tests.contour.infrastructure import crash_harness
from tests.contour.infrastructure.rig import PORTS, VERSIONS, of
from tests.operator import inprocess
from tests.operator.kill_after_writes import KillAfterWrites
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy

Raw = dict[str, Any]

ORPHANS, DEATHS = Limit("", 0), Limit("")
MOST = 60  # lives


@fault("f62", clustered, patience=120, orphans=ORPHANS, missing=Limit("", 0), deaths=DEATHS)
async def operator_dies_after_each_write(turn: Turn, site: Site) -> None:
    """Made, changed twice and removed, by operators that do a write or two each."""
    with site.home() as rig:
        deaths, missing = 0, 0
        for _ in range(3):
            rig.configure(**_spec(turn.chance, rig))
            deaths += await _lives(rig, turn.chance)
            missing += len(_wanted(rig) ^ rig.children().keys())
            turn.expect(rig.condition("Provisioned").get("status") == "True", "not provisioned")
        rig.cluster.delete(rig.configuration())
        deaths += await _lives(rig, turn.chance)
        turn.figures["missing"] = missing
        turn.figures["orphans"] = len(rig.children())
        turn.figures["deaths"] = deaths
        turn.expect(rig.is_gone(rig.configuration()), "the configuration is stuck")


@fault("f62-killed", clustered, patience=120, converged=Limit("s", 20), orphans=ORPHANS)
@blocking
def operator_killed_at_a_write(turn: Turn, site: Site) -> None:
    """SIGKILL at any write of making, of changing and of removing."""
    proxy = Proxy(site.cluster)
    with site.home() as rig, proxy.running():
        for change, most in (("made", 12), ("changed", 4), ("removed", 11)):
            killing = KillAfterWrites(proxy, after=turn.chance.randint(1, most))
            killing.operator = rig.operators[-1] if rig.operators else rig.start(proxy=proxy)
            if change == "removed":
                rig.cluster.delete(rig.configuration())
            else:
                watched = [] if change == "made" else [rig.home]
                rig.configure(contour={"watchNamespaces": watched})
            rig.until(killing.dead.is_set)
            turn.prove(f"killed while it is {change}", killing.dead.is_set())
            start, proxy.answered = time.monotonic(), lambda *_: None
            rig.start(proxy=proxy)
            rig.until(lambda is_made=change != "removed": _is_complete(rig, is_made))  # type: ignore[misc]
            turn.sample("converged", time.monotonic() - start)
        turn.figures["orphans"] = len(rig.children())


@fault("f62-fleet", clustered, patience=120, orphans=ORPHANS, deaths=DEATHS)
async def leader_dies_after_each_write(turn: Turn, site: Site) -> None:
    """The shared fleet or that of a Gateway: made, changed twice and removed."""
    with site.namespace() as namespace:
        rig = crash_harness.installed(site.cluster, namespace)
        fleet = turn.chance.choice((of(), rig.own))
        deaths = 0
        for _ in range(3):
            fleet = _fleet(turn.chance, fleet)
            deaths += await rig.lives(fleet, crash_harness.kept(fleet))
            kinds = {*VERSIONS, "Secret"} - _absent(fleet)
            turn.expect(rig.made(fleet).keys() == kinds, f"{[*rig.made(fleet)]} of {kinds}")
        deaths += await rig.lives(fleet, crash_harness.removed)
        await crash_harness.until_gone(rig, fleet)
        turn.figures["deaths"] = deaths
        turn.figures["orphans"] = len(rig.made(fleet))


def _spec(chance: Random, rig: Rig) -> Raw:
    places = chance.choice(([], [rig.home], [rig.home, rig.namespace]))
    contour = {
        "replicas": chance.randint(0, 4),
        "watchNamespaces": places,
        "podAnnotations": {f"example.com/{chance.randint(0, 9)}": "it"},
        "logLevel": chance.choice(("info", "debug")),
    }
    return {"contour": contour} | chance.choice(({}, {"gateway": _GATEWAYS}))


_GATEWAYS = {"controllerName": "example.com/ours", "mode": "PerGateway"}


async def _lives(rig: Rig, chance: Random) -> int:
    """How many operators it takes until one has nothing left to write."""
    owner, config = Owner(rig.namespace, "contour"), rig.access()
    for count in range(MOST):
        if not await inprocess.live(config, owner, after=chance.choice((1, 1, 2))):
            return count
    raise AssertionError("it never ends")


def _wanted(rig: Rig) -> set[tuple[str, str, str]]:
    """By the configuration as it is stored."""
    decoded = decode.decode(rig.cluster.get(rig.configuration()))
    assert isinstance(decoded, decode.Decoded)
    every = [
        *desired.children(decoded.object, desired.Release()),  # type: ignore[arg-type]
        *issuing.documents(Owner(rig.namespace, "contour")),
    ]
    return {
        (it["kind"], it["metadata"].get("namespace", ""), it["metadata"]["name"]) for it in every
    }


def _is_complete(rig: Rig, is_made: bool) -> bool:
    if not is_made:
        return rig.is_gone(rig.configuration())
    stored = rig.cluster.get(rig.configuration())
    condition = rig.condition("Provisioned")
    newest = condition.get("observedGeneration") == stored["metadata"]["generation"]
    return condition.get("status") == "True" and newest and _wanted(rig) == rig.children().keys()


def _fleet(chance: Random, before: Fleet) -> Fleet:
    """Without nodes, a workload of none is available, and nothing waits for another."""
    annotations = {f"example.com/{chance.randint(0, 9)}": "it"}
    type_: Any = chance.choice(("DaemonSet", "Deployment"))
    published: Any = chance.choice(("LoadBalancerService", "NodePortService", "ClusterIPService"))
    return replace(
        before,
        ports=PORTS[: chance.randint(1, len(PORTS))],
        publishing=workloads.NetworkPublishing(type=published),
        workload=workloads.Workload(type=type_, replicas=0, pod_annotations=annotations),
    )


def _absent(fleet: Fleet) -> set[str]:
    is_daemon = fleet.workload.type == "DaemonSet"
    other = {"Deployment", "PodDisruptionBudget"} if is_daemon else {"DaemonSet"}
    return other | (set() if fleet.gateway else {"Secret"})
