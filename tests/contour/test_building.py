"""A first build goes on in turns with everything else, and ends in what a build at once ends in."""

import asyncio

from contour.instance import Instance
from contour.xds.server import Server
from crds.meta import ObjectRef
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from tests.testbed.world import World, batch, namespace

WORLD = World.of(100, certificates=10)
HOST = ObjectRef("HTTPProxy", namespace(0), "root-0")


def _instance() -> Instance:
    made = Instance(Server(()))
    made.controller.use_host_ports(HostPorts())
    return made


def _served(of: Instance) -> dict[object, str]:
    types = of.server.fleet(DEFAULT_FLEET).store.types.values()
    return {it.name: it.version() for found in types for it in found.values()}


async def test_a_build_in_turns_ends_in_what_one_at_once_ends_in() -> None:
    found = batch(*WORLD.documents())
    at_once, in_turns = _instance(), _instance()
    at_once.take(found)
    await in_turns.build(found)
    assert len(_served(in_turns)) > 100
    assert _served(in_turns) == _served(at_once)
    assert in_turns.controller.board.told == at_once.controller.board.told


async def test_others_have_their_turns_meanwhile() -> None:
    made, turns = _instance(), 0
    building = asyncio.get_running_loop().create_task(made.build(batch(*World.of(300).documents())))
    while not building.done():
        turns += 1
        await asyncio.sleep(0)
    await building
    assert turns > 3


def test_before_the_end_nothing_is_served_or_told_and_what_comes_between_is_settled() -> None:
    async def run() -> None:
        made = _instance()
        steps = made.controller.building(batch(*WORLD.documents()))
        for _, _ in zip(range(300), steps, strict=False):
            made.controller.settle()
            assert not _served(made)
            assert not made.controller.subjects()
        assert made.controller.generation(HOST) is None
        for _ in steps:
            made.controller.report_process_errors(("a fault",))
        assert HOST in made.controller.subjects()
        assert made.controller.generation(HOST) is not None
        assert not [it for it in made.controller.engine.settling() if it is not None]

    asyncio.run(run())


async def test_the_first_change_after_a_build_looks_at_what_any_other_change_looks_at() -> None:
    made = _instance()
    made.take(batch(*WORLD.documents()))
    work, counts = made.controller.engine.work, list[int]()
    for path in ("/first", "/second"):
        before = work.checks
        made.take(batch(WORLD.root(0, path=path)))
        counts.append(work.checks - before)
    assert counts[0] == counts[1] > 0
