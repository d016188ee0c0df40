"""What a change costs where many Services are exported: as much as where few are."""

import pytest

from contour.instance import Instance
from contour.xds.server import Server
from dag import exports
from dag.ports import HostPorts
from tests.contour.envoy.grpcclients.plane import configuration, endpoints, route, rule, service
from tests.testbed import world
from tests.testbed.world import Document


def _work(others: int, change: Document) -> tuple[int, int, int]:
    """The rules that run and the reads that are compared for a change, where there are so many
    other Services, and the resources that there are then."""
    instance = Instance(Server(()))
    instance.controller.use_host_ports(HostPorts("127.0.0.1", ()))
    own = service("echo"), endpoints("echo", 1), route("r", rule(("echo", 1)))
    names = [f"other-{it}" for it in range(others)]
    more = (it for name in names for it in (service(name), endpoints(name, 1)))
    instance.take(world.batch(configuration("a.example"), *own, *more))
    work = instance.controller.engine.work
    before = work.runs, work.checks
    instance.take(world.batch(change))
    types = instance.server.fleets[exports.FLEET].store.types
    served = sum(len(found) for found in types.values())
    return work.runs - before[0], work.checks - before[1], served


@pytest.mark.parametrize(
    "change",
    [
        endpoints("echo", 1, zone="moved"),
        route("r", rule(("echo", 1), ("other-1", 1))),
        service("echo", 50051, 50052),
        service("fresh"),
    ],
)
async def test_a_change_costs_the_same_whatever_else_is_exported(change: Document) -> None:
    few, many = _work(3, change), _work(300, change)
    assert many[2] > few[2] + 1000
    assert many[:2] == few[:2]
    assert few[0]
