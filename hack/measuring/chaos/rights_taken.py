"""Each right that is needed to manage fleets is taken away, on a real API server, and given back.

A leader makes a DaemonSet of Envoys with all its objects, changes it, turns it into a Deployment,
and removes it. If it lacks a right, it has to report that, and to finish within the time of a retry
once it has the right. A right without which everything works must not be granted.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from contour.infrastructure.children import FleetScope
from contour.infrastructure.desired import Release
from crds.fleetdetails import Autoscaler, Details
from crds.meta import NamespacedName
from dag.fleets import Fleet
from hack.measuring import missing_rights
from hack.measuring.missing_rights import Outcome, Right, logged, note, outcomes
from provisioning import rights
from provisioning.keeping.ownership import Owner
from tests.cluster import prepared
from tests.cluster.cluster import OURS, Cluster
from tests.contour.infrastructure.crash_harness import authority
from tests.contour.infrastructure.rig import (
    AS_A_DAEMON_SET,
    AS_A_DEPLOYMENT,
    VERSIONS,
    Rig,
    leading,
    of,
)
from tests.testbed.apiserver import RefusedError
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

NAME = "rights-taken-away"
SECONDS = 90.0
"""The limit for each step."""
_RULES = [
    *rights.at_home("leader-elect", watches_everything=True),
    *rights.of_gateways(),
]
_KINDS = {
    "serviceaccounts",
    "services",
    "daemonsets",
    "deployments",
    "horizontalpodautoscalers",
    "poddisruptionbudgets",
    "networkpolicies",
}
"""The resources of a fleet's objects; a leader's other rights are for other tasks."""


Step = tuple[Fleet | None, set[str]]
"""The desired fleet, and the kinds of objects that it has then."""


@measures(NAME)
def rights_taken_away(options: Options) -> Iterator[Figure]:
    """Rights of a leader to the objects of a fleet."""
    every = [it for it in missing_rights.rights(_RULES) if it.resource in _KINDS]
    every = every[:: 5 if options.quick else 1]
    with (
        tempfile.TemporaryDirectory(prefix=f"{NAME}-") as folder,
        prepared.running(Path(folder), OURS) as cluster,
    ):
        found = asyncio.run(outcomes(every, partial(_without, cluster)))
    note(options, NAME, found)
    yield from missing_rights.figures(found, "after which not all was made")


async def _without(cluster: Cluster, right: Right) -> Outcome:
    namespace = await asyncio.to_thread(cluster.namespace, "lesser")
    lesser = missing_rights.without(right, _RULES)
    await asyncio.to_thread(cluster.service_account, namespace, "leader", lesser)
    await asyncio.to_thread(cluster.create, authority(namespace))
    rig = _OfAGateway(cluster, namespace, Release(Owner(namespace, "contour")))
    with logged() as log:

        def is_told() -> bool:
            words = [it.message for found in rig.told.values() for it in found]
            asked = (f'cannot {right.verb} resource "{right.resource}"', namespace)
            return any(all(one in it for one in asked) for it in [*words, *log])

        async with leading(rig):
            is_missed = not await _lives(rig, is_told, _LIFE)
            was_told = is_told()
            await asyncio.to_thread(cluster.apply, _role(namespace))
            is_finished = await _lives(rig, lambda: False, (_END, *_LIFE))
    return Outcome(right, is_missed, was_told, is_finished)


class _OfAGateway(Rig):
    """The fleet of one Gateway, or none."""

    def want(self, fleet: Fleet | None) -> None:
        """Sets the desired fleet; None removes it."""
        gateway = NamespacedName(self.namespace, "a")
        own = fleet and replace(fleet, gateway=gateway, gateway_class="ours")
        self.wanted = {"a": own} if own else {}
        if self.infrastructure is not None:
            self.infrastructure.notice()

    def scope(self) -> FleetScope | None:
        return FleetScope((self.namespace,), with_secrets=True)

    def kinds(self) -> set[str]:
        """The kinds of the fleet's existing objects."""
        found = set()
        for kind in VERSIONS:
            with suppress(RefusedError):
                self.cluster.get(self.named(kind, "a-ours"))
                found.add(kind)
        return found


async def _lives(rig: _OfAGateway, is_over: Callable[[], bool], life: Sequence[Step]) -> bool:
    """Takes a fleet through all steps, in which everything is made, changed and removed; returns
    whether they were completed.

    There are no nodes: a DaemonSet is always available, a Deployment if it has 0 replicas.
    """
    for fleet, kinds in life:
        rig.want(fleet)

        def is_so(kinds: set[str] = kinds) -> bool:
            return rig.kinds() == kinds and not rig.told.get("a")

        if not await _comes(is_so, is_over):
            return False
    return True


_SCALED = Details(autoscaler=Autoscaler(min_replicas=2, max_replicas=3))
_END: Step = (None, set())
_LIFE: Sequence[Step] = (
    (replace(of(type="Deployment"), details=_SCALED), {*VERSIONS} - {"DaemonSet"}),
    (of(type="Deployment", replicas=0), AS_A_DEPLOYMENT),
    (of(), AS_A_DAEMON_SET),
    (of(type="Deployment", replicas=0), AS_A_DEPLOYMENT),
    _END,
)


async def _comes(is_so: Callable[[], bool], is_over: Callable[[], bool]) -> bool:
    loop = asyncio.get_running_loop()
    start = loop.time()
    while loop.time() - start < SECONDS:
        if is_over():
            return False
        if await asyncio.to_thread(is_so):
            return True
        await asyncio.sleep(0.1)
    return False


def _role(namespace: str) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": "leader"}
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": [*_RULES]}
