"""Leaders that keep fleets for so many writes and die; whoever comes next goes on.

The parts are the real ones, with the shipped rights; a death is an exception that nobody catches.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from contour.infrastructure import children, desired
from contour.infrastructure.children import FleetScope
from contour.infrastructure.desired import Key, Release
from contour.infrastructure.keeping import FleetReconciler, Wanted
from crds.meta import NamespacedName
from dag.fleets import Fleet, FleetProblem
from kube import kubeconfig
from provisioning import certificates, pem, rights
from provisioning.keeping.ownership import Owner
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure.rig import VERSIONS, of
from tests.operator.inprocess import Crash, CrashingClient
from tests.testbed.apiserver import RefusedError
from tests.testbed.patience import PATIENCE

Raw = dict[str, Any]
Turn = Callable[[FleetReconciler, Key], Awaitable[Sequence[FleetProblem]]]


@dataclass
class Rig:
    """An instance that has just been installed."""

    cluster: Cluster
    config: str
    release: Release
    gateway: NamespacedName

    @property
    def own(self) -> Fleet:
        """The fleet of a Gateway."""
        return replace(of(type="Deployment"), gateway=self.gateway, gateway_class="ours")

    def made(self, fleet: Fleet) -> dict[str, Raw]:
        """What there is of a fleet, by kind."""
        where, found = desired.called(self.release, fleet), {}
        for kind, version in (VERSIONS | {"Secret": "v1"}).items():
            try:
                it = {"apiVersion": version, "kind": kind, "metadata": where._asdict()}
                found[kind] = self.cluster.get(it)
            except RefusedError:
                continue
        return found

    async def lives(self, fleet: Fleet, turn: Turn) -> int:
        """How many leaders it takes until one has nothing left to write."""
        for count in range(100):
            if not await self.live(fleet, turn, after=1):
                return count
        raise AssertionError("it never ends")

    async def live(self, fleet: Fleet, turn: Turn, after: int = 0) -> int:
        """The writes of a life that changed something: all that there was to do, or so many."""
        key = desired.key(self.release, fleet.gateway)
        async with CrashingClient(kubeconfig.Kubeconfig(self.config), after) as client:
            scope = FleetScope((key.namespace,), with_secrets=True)
            followed = children.followed(client, self.release.ownership, scope, lambda _: None)
            following = asyncio.ensure_future(followed.run())
            try:
                async with asyncio.timeout(PATIENCE):
                    await followed.synced()
                    reconciler = FleetReconciler(client, self.release, followed, lambda *_: None)
                    while await turn(reconciler, key):
                        await asyncio.sleep(0.02)
            except Crash:
                pass
            finally:
                following.cancel()
                await asyncio.wait([following])
            return client.writes


def installed(cluster: Cluster, namespace: str) -> Rig:
    """An instance with the shipped rights; nothing runs yet."""
    every = [*rights.at_home("leader-elect", watches_everything=True), *rights.of_gateways()]
    reads = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}
    token = cluster.service_account(namespace, "leader", [*every, reads])
    cluster.create(authority(namespace))
    gateway = NamespacedName(namespace, "gw")
    config = str(cluster.kubeconfig(token, namespace))
    return Rig(cluster, config, Release(Owner(namespace, "contour")), gateway)


def kept(fleet: Fleet) -> Turn:
    """It is to be so."""
    return lambda it, key: it.keep(key, Wanted("it", fleet))


async def removed(reconciler: FleetReconciler, key: Key) -> Sequence[FleetProblem]:
    """Until there is nothing left."""
    return await reconciler.remove(key)


def authority(namespace: str) -> Raw:
    """A new one, as an installation keeps it."""
    made = certificates.authority(datetime.now(UTC))
    content = {"ca.crt": pem.bundle([made]), "ca.key": pem.keys([made])}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "contour-authority", "namespace": namespace},
        "type": "projectcontour.io/authority",
        "data": {key: base64.b64encode(it).decode() for key, it in content.items()},
    }


async def until_gone(rig: Rig, fleet: Fleet) -> None:
    """The Secret goes a moment later, with the ServiceAccount that owns it."""
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(rig.made, fleet):
            await asyncio.sleep(0.05)
