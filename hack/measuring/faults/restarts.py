"""F21 to F25, F44 and F45: a control plane or an Envoy dies, stops, freezes, and comes back."""

import asyncio
import contextlib
import time

from hack.measuring import world
from hack.measuring.faults import served
from hack.measuring.faults.served import Served
from hack.measuring.faults.table import Limit, Turn, fault
from tests.testbed.load import Answer, Connection, Request

LONG_OUTAGE = 25.0
REMOVALS = r"(cluster_manager\.cluster_removed|listener_manager\.listener_removed)$"
CONNECTIONS_LOST = r"^cluster\.contour\.upstream_cx_destroy$"

thousand = served.stage(1_000)
hundred = served.stage(100)


@fault(
    "f21",
    thousand,
    open_after_kill=Limit("s", 3),
    in_sync_after_open=Limit("s", 2.5),
    removed_by_first_answer=Limit("", 0),
)
async def killed(turn: Turn, site: Served) -> None:
    """The control plane is killed under load and started again: its first answer is complete."""
    removed = await site.envoy.total(REMOVALS)
    async with site.load(1_000).running() as tally:
        await _outage(turn, site, 0.0)
    turn.count(tally)
    turn.figures["removed_by_first_answer"] = await site.envoy.total(REMOVALS) - removed


@fault("f22", hundred, outage=Limit("s"), in_sync_after_open=Limit("s", 2.5))
async def down(turn: Turn, site: Served) -> None:
    """The control plane is away for a while (the first run: 25 s): Envoy is back in sync soon."""
    is_long = turn.number == 1 and not turn.quick
    outage = LONG_OUTAGE if is_long else turn.chance.uniform(0.5, 4.0)
    async with site.load(200).running() as tally:
        await _outage(turn, site, outage)
    turn.count(tally)
    turn.figures["outage"] = outage


@fault("f45", hundred, in_sync_after_open=Limit("s", 2.5), killed_at_start=Limit("times"))
async def out_of_memory(turn: Turn, site: Served) -> None:
    """Killed as the kernel would, in the middle of a build, and again and again while it starts."""
    async with site.load(200).running() as tally:
        documents = [site.of.child(it, header="burst") for it in range(site.of.hosts)]
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_cut_off(site, documents))
            await asyncio.sleep(turn.chance.uniform(0.0, 0.02))
            await site.control.kill()
        times = turn.chance.randint(1, 3)
        for _ in range(times):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(turn.chance.uniform(0.05, 0.5)):
                    await site.control.start()
            await site.control.kill()
            turn.prove("killed at its start", site.control.status == -9)
        await _outage(turn, site, 0.0)
    turn.count(tally)
    turn.figures["killed_at_start"] = times


async def _cut_off(site: Served, documents: list[world.Document]) -> None:
    with contextlib.suppress(EOFError, OSError):
        await site.change(documents)


async def _outage(turn: Turn, site: Served, seconds: float) -> None:
    """Kills the control plane, changes the world, starts it; until Envoy serves the change."""
    before, start = await site.envoy.total(CONNECTIONS_LOST), time.monotonic()
    await site.control.kill()
    turn.prove("killed by signal 9", site.control.status == -9)
    async with asyncio.timeout(10):
        while await site.envoy.total(CONNECTIONS_LOST) == before:
            await asyncio.sleep(0.01)
    turn.prove("connections lost", await site.envoy.total(CONNECTIONS_LOST) - before)
    await asyncio.sleep(seconds)
    document, request, sign = site.edited(turn.chance.randrange(site.of.hosts))
    site.put(document)
    opened = await site.restart()
    turn.figures["open_after_kill"] = opened - start - seconds
    turn.figures["in_sync_after_open"] = await site.seen(request, sign) - opened


@fault("f23", hundred, ready=Limit("s", 3), wrong_answers=Limit("", 0))
async def envoy_killed(turn: Turn, site: Served) -> None:
    """Envoy is killed: its successor refuses connections until it has everything."""
    await site.envoy.kill()
    turn.prove("killed by signal 9", site.envoy.status == -9)
    start = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        await _never_wrong(turn, site, tasks.create_task(site.envoy.start()))
    turn.figures["ready"] = time.monotonic() - start
    await _all_answer(turn, site)


@fault("f24", hundred, ready_after_open=Limit("s", 3), wrong_answers=Limit("", 0))
async def both_down(turn: Turn, site: Served) -> None:
    """Envoy starts without a control plane: it is not ready, and answers nobody wrongly."""
    await site.control.kill()
    await site.envoy.kill()
    turn.prove("both killed", (site.control.status, site.envoy.status) == (-9, -9))
    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(site.envoy.start())
        tasks.create_task(_never_wrong(turn, site, starting))
        await _not_ready(turn, site, turn.chance.uniform(0.5, 2.0))
        opened = await site.restart()
    turn.figures["ready_after_open"] = time.monotonic() - opened
    await _all_answer(turn, site)


async def _not_ready(turn: Turn, site: Served, seconds: float) -> None:
    end, asked = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        status = await site.envoy.ready()
        turn.expect(status != 200, "ready without a configuration")
        asked += status is not None
        await asyncio.sleep(0.05)
    turn.prove("said not to be ready", asked)


async def _never_wrong(turn: Turn, site: Served, starting: asyncio.Task[None]) -> None:
    """Asks all the time until Envoy is ready: nobody, or the right answer."""
    wrong, request = 0, Request(world.fqdn(turn.chance.randrange(site.of.hosts)))
    while not starting.done():
        answer = await _answered(site.port, request)
        if answer is not None:
            turn.sent += 1
            wrong += answer.status != 200
        await asyncio.sleep(0.005)
    await starting
    turn.figures["wrong_answers"] = wrong


async def _answered(port: int, request: Request) -> Answer | None:
    connection = Connection(port)
    try:
        return await connection.ask(request)
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


async def _all_answer(turn: Turn, site: Served) -> None:
    """Every host, once, right after Envoy said that it is ready."""
    connection = Connection(site.port)
    for number in range(site.of.hosts):
        answer = await connection.ask(Request(world.fqdn(number)))
        turn.sent += 1
        if answer.status != 200:
            turn.failures[f"{answer.status} after ready"] += 1
    connection.close()


@fault("f25", hundred, together=5, on_the_other=Limit("s", 11))
async def frozen(turn: Turn, site: Served) -> None:
    """The control plane freezes; another one at the same address takes over by itself."""
    async with site.load(50).running() as tally:
        old, start = site.control, time.monotonic()
        old.freeze()
        async with asyncio.timeout(5):
            while not old.is_frozen:
                await asyncio.sleep(0)
        turn.prove("frozen", old.is_frozen)
        site.control = old.twin()
        try:
            document, request, sign = site.edited(turn.chance.randrange(site.of.hosts))
            site.put(document)
            await site.restart()
            turn.figures["on_the_other"] = await site.seen(request, sign) - start
            turn.prove("still frozen", old.is_frozen)
        finally:
            await old.kill()
    turn.count(tally)


@fault("f44", hundred, exit=Limit("s", 5), in_sync_after_open=Limit("s", 2.5))
async def stopped(turn: Turn, site: Served) -> None:
    """The control plane is asked to end, and does; Envoy goes on and finds the next one."""
    async with site.load(200).running() as tally:
        turn.figures["exit"] = await site.control.stop()
        turn.prove("ended by itself", site.control.status == 0)
        document, request, sign = site.edited(turn.chance.randrange(site.of.hosts))
        site.put(document)
        opened = await site.restart()
        turn.figures["in_sync_after_open"] = await site.seen(request, sign) - opened
    turn.count(tally)
