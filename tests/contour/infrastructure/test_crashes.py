"""Killed after each write: the next leader goes on, and at the end nothing is missing or left."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from contour.infrastructure import desired
from contour.infrastructure.children import Children, Reach
from contour.infrastructure.desired import Key, Release
from contour.infrastructure.keeping import Keeper, Wanted
from crds import workloads
from crds.meta import NamespacedName
from dag.fleets import Fleet, Trouble
from kube import kubeconfig
from provisioning import certificates, identities, pem, rights
from provisioning.ownership import Owner
from tests.cluster.cluster import Cluster, RefusedError
from tests.contour.infrastructure.rig import PORTS, SHARED, VERSIONS, of
from tests.operator.inprocess import Death, Mortal

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]
Turn = Callable[[Keeper, Key], Awaitable[Sequence[Trouble]]]


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
        async with Mortal(kubeconfig.Kubeconfig(self.config), after) as client:
            reach = Reach((key.namespace,), with_secrets=True)
            children = Children(client, self.release.mark, reach, lambda _: None)
            following = asyncio.ensure_future(children.run())
            try:
                async with asyncio.timeout(30):
                    await children.settled()
                    keeper = Keeper(client, self.release, children)
                    while await turn(keeper, key):
                        await asyncio.sleep(0.02)
            except Death:
                pass
            finally:
                following.cancel()
                await asyncio.wait([following])
            return client.writes


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    every = [*rights.at_home("leader-elect", watches_everything=True), *rights.of_gateways()]
    reads = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}
    token = cluster.service_account(namespace, "leader", [*every, reads])
    cluster.create(authority(namespace))
    gateway = NamespacedName(namespace, "gw")
    config = str(cluster.kubeconfig(token, namespace))
    return Rig(cluster, config, Release(Owner(namespace, "contour")), gateway)


def kept(fleet: Fleet) -> Turn:
    return lambda keeper, key: keeper.keep(key, Wanted("it", fleet))


async def removed(keeper: Keeper, key: Key) -> Sequence[Trouble]:
    """Until there is nothing left."""
    return await keeper.remove(key)


@pytest.mark.parametrize("is_shared", [True, False])
async def test_one_that_dies_after_each_write_makes_and_changes_and_removes_a_fleet(
    rig: Rig, is_shared: bool
) -> None:
    first = of(SHARED, type="Deployment", replicas=0) if is_shared else rig.own
    whole = {*VERSIONS} - {"DaemonSet"} | (set() if is_shared else {"Secret"})
    assert await rig.lives(first, kept(first)) == len(whole)
    assert set(rig.made(first)) == whole
    # The workload, the Service and the NetworkPolicy are others; the old ones go.
    second = replace(first, ports=PORTS[:1], workload=workloads.Workload())
    assert await rig.lives(second, kept(second)) == 5
    assert set(rig.made(first)) == whole - {"Deployment", "PodDisruptionBudget"} | {"DaemonSet"}
    assert await rig.lives(second, removed) == 4
    await until_gone(rig, second)


async def test_the_certificate_is_of_the_instance_and_names_the_gateway_alone(rig: Rig) -> None:
    await rig.live(rig.own, kept(rig.own))
    data = rig.made(rig.own)["Secret"]["data"]
    leaf = pem.leaf(*(base64.b64decode(data[it]) for it in ("tls.crt", "tls.key")))
    (trusted,) = pem.authorities(base64.b64decode(data["ca.crt"]))
    assert leaf is not None
    assert certificates.is_issued_by(leaf.certificate, trusted.certificate)
    names = identities.gateway_fleet("gw", rig.gateway.namespace)
    assert certificates.names(leaf.certificate) == set(names)
    assert identities.CONTROL_PLANE not in names


async def test_a_certificate_that_was_spoiled_or_is_of_another_authority_is_made_anew(
    rig: Rig,
) -> None:
    await rig.live(rig.own, kept(rig.own))
    secret = rig.made(rig.own)["Secret"]
    spoiled = secret | {"data": secret["data"] | {"tls.key": ""}}
    rig.cluster.ask("PUT", rig.cluster.path(secret), spoiled)
    assert await rig.live(rig.own, kept(rig.own)) == 1
    assert rig.made(rig.own)["Secret"]["data"]["tls.key"]
    other = authority(rig.gateway.namespace)
    rig.cluster.ask("PUT", rig.cluster.path(other), other)
    assert await rig.live(rig.own, kept(rig.own)) == 1
    data = rig.made(rig.own)["Secret"]["data"]
    assert data["ca.crt"] == other["data"]["ca.crt"]
    assert data["tls.crt"] != secret["data"]["tls.crt"]


async def test_without_an_authority_it_is_told_what_is_missing(rig: Rig) -> None:
    rig.cluster.delete(authority(rig.gateway.namespace))
    told: list[Trouble] = []

    async def once(keeper: Keeper, key: Key) -> Sequence[Trouble]:
        told.extend(await keeper.keep(key, Wanted("it", rig.own)))
        return ()

    await rig.live(rig.own, once)
    assert [it.message for it in told] == [
        "no Secret contour-authority that could sign its certificate"
    ]


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
    async with asyncio.timeout(30):
        while await asyncio.to_thread(rig.made, fleet):
            await asyncio.sleep(0.05)
