"""Fault tests and measurements run on the product's own instance, not on different wiring."""

from collections.abc import Callable
from pathlib import Path

import pytest

from contour.envoy import outputs, releases
from contour.instance import Instance
from contour.xds.resources import LISTENER
from dag.fleetnames import DEFAULT_FLEET
from dag.statuses import GatewayStatus
from tests.faults import scripted
from tests.testbed import world
from tests.testbed.fed import Fed, Settings
from tests.testbed.local import Local

GATEWAY = (*world.gateway(), world.http_route(0, 0))


def fed(folder: Path) -> Instance:
    """As the process makes it."""
    return Settings(str(folder / "xds"), "", ()).instance()


def local(folder: Path) -> Instance:
    """In the process that measures."""
    return Local(folder, ()).instance


@pytest.mark.parametrize("make", [fed, local])
async def test_it_has_the_products_stand_ins_and_programmed_follows_the_acks(
    make: Callable[[Path], Instance], tmp_path: Path
) -> None:
    instance = make(tmp_path)
    fleet = instance.server.fleet(DEFAULT_FLEET)
    assert fleet.quarantine.stand_in is outputs.stand_in
    assert fleet.built_for is releases.BUILT_FOR
    instance.take(world.batch(*GATEWAY))
    await instance.server.start()
    try:
        async with scripted.client(instance.server.addresses[0]) as envoy:
            await envoy.say(LISTENER)
            answer = await envoy.hear()
            instance.controller.settle()
            assert _programmed(instance) == ("False", "Pending")
            await envoy.accept(answer)
            while not fleet.acceptance.is_settled:
                await envoy.hear_within(0.01)
            await envoy.hear_within(0.01)  # it settles by itself
            assert _programmed(instance) == ("True", "Programmed")
    finally:
        await instance.server.stop()


def _programmed(instance: Instance) -> tuple[str, str]:
    statuses = instance.controller.board.told.values()
    (found,) = (it for it in statuses if isinstance(it, GatewayStatus))
    (it,) = (it for it in found.conditions if it.type == "Programmed")
    return it.status, it.reason


async def test_a_process_takes_the_world_and_changes_and_ends_when_it_is_not_asked_any_more(
    tmp_path: Path,
) -> None:
    control = Fed(tmp_path, ((80, 8080),))
    control.keep(GATEWAY)
    opened = await control.start()
    try:
        took = await control.change([world.http_route(1, 1)], GATEWAY[-1:])
        assert opened < took.came < took.published
        await control.stop()
        assert control.status == 0
    finally:
        await control.end()
