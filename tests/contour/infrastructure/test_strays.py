"""What is left of Gateways that are gone is removed, and nothing while that is not certain."""

from dataclasses import replace

import pytest

from contour.infrastructure.children import FleetScope
from crds.meta import NamespacedName
from dag.fleets import Fleet
from provisioning import rights
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.crash_harness import authority
from tests.contour.infrastructure.rig import SHARED, Rig, leading

pytestmark = pytest.mark.cluster


class PerGateway(Rig):
    """Fleets may be in all namespaces, or at home alone."""

    is_wide = True
    is_certain = True

    def own(self, name: str) -> Fleet:
        """The fleet of a Gateway."""
        gateway = NamespacedName(self.namespace, name)
        return replace(SHARED, gateway=gateway, gateway_class="ours")

    def scope(self) -> FleetScope | None:
        if self.is_wide:
            return FleetScope((self.namespace,), with_secrets=True)
        return super().scope()

    def knows_gateways(self) -> bool:
        return self.is_certain

    def daemon_sets(self) -> set[str]:
        """Their names."""
        path = self.cluster.path(self.named("DaemonSet"), of_collection=True)
        return {it["metadata"]["name"] for it in self.cluster.ask("GET", path)["items"]}


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> PerGateway:
    every = [*rights.at_home("leader-elect", watches_everything=True), *rights.of_gateways()]
    reads = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}
    cluster.service_account(namespace, "leader", [*every, reads])
    cluster.create(authority(namespace))
    found = rigs.rig(cluster, namespace)
    return PerGateway(cluster, namespace, found.release)


async def has_turn(rig: PerGateway) -> None:
    """The shared fleet is kept once more; turns that were due before it have begun before."""
    rig.cluster.delete(rig.named("DaemonSet"))
    await rig.until(lambda: "envoy" in rig.daemon_sets())
    await rig.until_told("")


async def test_a_fleet_whose_gateway_has_gone_meanwhile_is_removed(rig: PerGateway) -> None:
    rig.wanted = {"contour": SHARED, "a": rig.own("a"), "b": rig.own("b")}
    async with leading(rig):
        await rig.until(lambda: rig.daemon_sets() == {"envoy", "a-ours", "b-ours"})
    del rig.wanted["a"]
    async with leading(rig):
        await rig.until(lambda: rig.daemon_sets() == {"envoy", "b-ours"})


async def test_the_last_fleet_of_a_gateway_is_removed(rig: PerGateway) -> None:
    rig.wanted = {"a": rig.own("a")}
    async with leading(rig) as infrastructure:
        await rig.until(lambda: rig.daemon_sets() == {"a-ours"})
        rig.wanted = {}
        infrastructure.notice()
        await rig.until(lambda: not rig.daemon_sets())


async def test_nothing_is_removed_while_it_is_not_certain_which_gateways_there_are(
    rig: PerGateway,
) -> None:
    rig.wanted = {"contour": SHARED, "a": rig.own("a")}
    async with leading(rig):
        await rig.until(lambda: rig.daemon_sets() == {"envoy", "a-ours"})
    rig.wanted, rig.is_certain = {"contour": SHARED}, False
    async with leading(rig):
        await has_turn(rig)  # and so had the other
        assert rig.daemon_sets() == {"envoy", "a-ours"}
        rig.is_certain = True
        await rig.until(lambda: rig.daemon_sets() == {"envoy"})


@pytest.mark.parametrize("shared", [{"contour": SHARED}, {}], ids=["shared", "none"])
async def test_with_another_mode_the_fleets_of_gateways_go(
    rig: PerGateway, shared: dict[str, Fleet]
) -> None:
    names = {"envoy"} if shared else set[str]()
    rig.wanted = {**shared, "a": rig.own("a")}
    async with leading(rig) as infrastructure:
        await rig.until(lambda: rig.daemon_sets() == {*names, "a-ours"})
        rig.is_wide, rig.wanted = False, shared
        infrastructure.notice()
        await rig.until(lambda: rig.daemon_sets() == names)
        assert "a" not in rig.told


async def test_a_fleet_that_is_not_ours_to_keep_any_more_stays(rig: PerGateway) -> None:
    rig.wanted = {"contour": SHARED, "a": rig.own("a")}
    async with leading(rig) as infrastructure:
        await rig.until(
            lambda: rig.daemon_sets() == {"envoy", "a-ours"} and rig.told.get("a") == ()
        )
        rig.wanted["a"] = replace(rig.own("a"), is_managed=False)
        infrastructure.notice()
        await has_turn(rig)  # and whatever turn went on meanwhile has ended
        rig.cluster.delete(rig.named("DaemonSet", "a-ours"))
        await has_turn(rig)
        assert rig.daemon_sets() == {"envoy"}
        assert rig.cluster.get(rig.named("Service", "a-ours"))
