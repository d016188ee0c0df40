"""A real Envoy on a replica that does not lead: the leader's statuses tell what it says."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from envoy.config.route.v3 import route_components_pb2, route_pb2

from contour.controller import Controller
from contour.xds import resources
from crds.meta import ObjectRef
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from dag.statuses import ContourStatus, GatewayStatus
from tests.contour.envoyreports import replicas
from tests.contour.test_controller import SERVICE, events, proxy
from tests.contour.xds import envoys
from tests.dag.test_hosts import GATEWAY
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy
BAD = "bad.com"


@dataclass
class Plane:
    """A whole control plane; what it publishes of one host can be made unacceptable."""

    port: int
    is_sound: bool = True
    controller: Controller = field(init=False)
    replica: replicas.Replica = field(init=False)

    def __post_init__(self) -> None:
        self.controller = Controller(self._publish)
        self.controller.use_host_ports(HostPorts("127.0.0.1", ((80, self.port),)))

    def _publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        changed = changes if self.is_sound else [_spoilt(it) for it in changes]
        self.replica.server.fleet(fleet).publish(changed)

    def take(self, text: str) -> None:
        self.controller.take(events(text))

    def programmed(self) -> tuple[str, str]:
        """Status and reason of the Gateway's condition."""
        self.controller.settle()
        found = self.controller.board.told[ObjectRef("Gateway", "default", "edge")]
        assert isinstance(found, GatewayStatus)
        (it,) = [it for it in found.conditions if it.type == "Programmed"]
        return it.status, it.reason

    def errors(self, name: str) -> str:
        """What an HTTPProxy is told that is wrong with it."""
        self.controller.settle()
        found = self.controller.board.told[ObjectRef("HTTPProxy", "default", name)]
        assert isinstance(found, ContourStatus)
        return "; ".join(it.message for it in found.errors)


def _spoilt(change: resources.Change) -> resources.Change:
    if change.part != BAD or change.value is None:
        return change
    twice = route_components_pb2.VirtualHost(name=BAD, domains=[BAD, BAD.upper()])
    body = route_pb2.RouteConfiguration(virtual_hosts=[twice]).SerializeToString()
    digest = resources.digest(body)
    return change._replace(value=replace(change.value, body=body, digest=digest))


@asynccontextmanager
async def planes(folder: Path, *names: str) -> AsyncIterator[list[Plane]]:
    """Control planes of one instance that serve the same; the first one leads."""
    of, port = replicas.instance(folder), free_port()
    made = [Plane(port) for _ in names]
    async with replicas.all_of(
        of.replica(name, engine=it.controller.engine) for name, it in zip(names, made, strict=True)
    ) as started:
        for it, replica in zip(made, started, strict=True):
            it.replica = replica
            replica.server.fallback = DEFAULT_FLEET
            replica.hear(DEFAULT_FLEET)
            it.take(SERVICE + GATEWAY + proxy("good", "good.com") + proxy("bad", BAD))
        started[0].collector.lead()
        for follower in started[1:]:
            follower.leader.tell(started[0].address)
        yield made


async def test_the_leader_tells_what_the_envoys_of_a_follower_say(tmp_path: Path) -> None:
    async with planes(tmp_path, "one", "two") as (leader, follower):
        assert leader.programmed() == ("False", "NoResources")
        async with envoys.envoy(tmp_path, f"{tmp_path}/two"):
            await leader.replica.until(lambda: leader.programmed() == ("True", "Programmed"))
            for it in (leader, follower):
                it.is_sound = False
                it.take(proxy("bad", BAD, service="nowhere"))
            await leader.replica.until(lambda: "Envoy refuses it" in leader.errors("bad"))
            assert not leader.errors("good")
            for it in (leader, follower):
                it.is_sound = True
                it.take(proxy("bad", BAD))
            await leader.replica.until(lambda: not leader.errors("bad"))
        await leader.replica.until(lambda: leader.programmed() == ("False", "NoResources"))


async def test_a_leader_that_is_ahead_waits_for_the_envoys_of_the_others(tmp_path: Path) -> None:
    async with (
        planes(tmp_path, "one", "two") as (leader, follower),
        envoys.envoy(tmp_path, f"{tmp_path}/two"),
    ):
        await leader.replica.until(lambda: leader.programmed() == ("True", "Programmed"))
        moved = HostPorts("127.0.0.1", ((80, free_port()),))
        leader.controller.use_host_ports(moved)
        leader.controller.settle()
        assert leader.programmed() == ("False", "Pending")
        follower.controller.use_host_ports(moved)
        follower.controller.settle()
        await leader.replica.until(lambda: leader.programmed() == ("True", "Programmed"))


async def test_a_new_leader_tells_the_same(tmp_path: Path) -> None:
    async with planes(tmp_path, "one", "two", "three") as (one, two, three):
        for it in (one, two, three):
            it.is_sound = False
            it.take(proxy("bad", BAD, service="nowhere"))
        async with envoys.envoy(tmp_path, f"{tmp_path}/three"):
            await one.replica.until(lambda: "Envoy refuses it" in one.errors("bad"))
            one.replica.collector.resign()
            two.replica.collector.lead()
            two.replica.leader.tell(None)
            for it in (one, three):
                it.replica.leader.tell(two.replica.address)
            await two.replica.until(lambda: "Envoy refuses it" in two.errors("bad"))
            await two.replica.until(lambda: two.programmed() == ("True", "Programmed"))
            assert "Envoy refuses it" not in one.errors("bad")
