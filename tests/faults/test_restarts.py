"""F22 to F25, F44 and F45: a control plane or an Envoy dies, stops, freezes, and comes back."""

import asyncio
import contextlib
import time

from tests.faults.rows import Limit, Run, fault
from tests.testbed import served, world
from tests.testbed.fed import Fed
from tests.testbed.load import Answer, Connection, Request
from tests.testbed.served import Site

LONG_OUTAGE = 25.0
CONNECTIONS_LOST = r"^cluster\.contour\.upstream_cx_destroy$"

hundred = served.stage(100, Fed)


@fault("f22", hundred, outage=Limit("s"), in_sync_after_open=Limit("s", 2.5))
async def down(run: Run, site: Site[Fed]) -> None:
    """The control plane is away for a while (the first run: 25 s): Envoy is back in sync soon."""
    is_long = run.number == 1 and not run.quick
    outage = LONG_OUTAGE if is_long else run.chance.uniform(0.5, 4.0)
    async with site.load(200).running() as tally:
        await _outage(run, site, outage)
    run.count(tally)
    run.figures["outage"] = outage


@fault("f45", hundred, in_sync_after_open=Limit("s", 2.5), killed_at_start=Limit("times"))
async def out_of_memory(run: Run, site: Site[Fed]) -> None:
    """Killed as the kernel would, in the middle of a build, and again and again while it starts."""
    async with site.load(200).running() as tally:
        documents = [site.of.child(it, header="burst") for it in range(site.of.hosts)]
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_cut_off(site, documents))
            await asyncio.sleep(run.chance.uniform(0.0, 0.02))
            await site.control.end()
        times = run.chance.randint(1, 3)
        for _ in range(times):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(run.chance.uniform(0.05, 0.5)):
                    await site.control.start()
            await site.control.end()
            run.prove("killed at its start", site.control.status == -9)
        await _outage(run, site, 0.0)
    run.count(tally)
    run.figures["killed_at_start"] = times


async def _cut_off(site: Site[Fed], documents: list[world.Document]) -> None:
    with contextlib.suppress(EOFError, OSError):
        await site.change(documents)


async def _outage(run: Run, site: Site[Fed], seconds: float) -> None:
    """Kills the control plane, changes the world, starts it; until Envoy serves the change."""
    before = await site.envoy.total(CONNECTIONS_LOST)
    await site.control.end()
    run.prove("killed by signal 9", site.control.status == -9)
    async with asyncio.timeout(10):
        while await site.envoy.total(CONNECTIONS_LOST) == before:
            await asyncio.sleep(0.01)
    run.prove("connections lost", await site.envoy.total(CONNECTIONS_LOST) - before)
    await asyncio.sleep(seconds)
    document, request, sign = site.edited(run.chance.randrange(site.of.hosts))
    site.put(document)
    opened = await site.restart()
    run.figures["in_sync_after_open"] = await site.seen(request, sign) - opened


@fault("f23", hundred, ready=Limit("s", 3), wrong_answers=Limit("", 0))
async def envoy_killed(run: Run, site: Site[Fed]) -> None:
    """Envoy is killed: its successor refuses connections until it has everything."""
    await site.envoy.end()
    run.prove("killed by signal 9", site.envoy.status == -9)
    start = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        await _never_wrong(run, site, tasks.create_task(site.envoy.start()))
    run.figures["ready"] = time.monotonic() - start
    await _all_answer(run, site)


@fault("f24", hundred, ready_after_open=Limit("s", 3), wrong_answers=Limit("", 0))
async def both_down(run: Run, site: Site[Fed]) -> None:
    """Envoy starts without a control plane: it is not ready, and answers nobody wrongly."""
    await site.control.end()
    await site.envoy.end()
    run.prove("both killed", (site.control.status, site.envoy.status) == (-9, -9))
    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(site.envoy.start())
        tasks.create_task(_never_wrong(run, site, starting))
        await _not_ready(run, site, run.chance.uniform(0.5, 2.0))
        opened = await site.restart()
    run.figures["ready_after_open"] = time.monotonic() - opened
    await _all_answer(run, site)


async def _not_ready(run: Run, site: Site[Fed], seconds: float) -> None:
    end, asked = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        status = await site.envoy.ready()
        run.expect(status != 200, "ready without a configuration")
        asked += status is not None
        await asyncio.sleep(0.05)
    run.prove("said not to be ready", asked)


async def _never_wrong(run: Run, site: Site[Fed], starting: asyncio.Task[None]) -> None:
    """Asks all the time until Envoy is ready: nobody, or the right answer."""
    wrong, request = 0, Request(world.fqdn(run.chance.randrange(site.of.hosts)))
    while not starting.done():
        answer = await _answered(site.port, request)
        if answer is not None:
            run.sent += 1
            wrong += answer.status != 200
        await asyncio.sleep(0.005)
    await starting
    run.figures["wrong_answers"] = wrong


async def _answered(port: int, request: Request) -> Answer | None:
    connection = Connection(port)
    try:
        return await connection.ask(request)
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


async def _all_answer(run: Run, site: Site[Fed]) -> None:
    """Every host, once, right after Envoy said that it is ready."""
    for status in await site.statuses():
        run.sent += 1
        if status != 200:
            run.failures[f"{status} after ready"] += 1


@fault("f25", hundred, together=5, on_the_other=Limit("s", 11))
async def frozen(run: Run, site: Site[Fed]) -> None:
    """The control plane freezes; another one at the same address takes over by itself."""
    async with site.load(50).running() as tally:
        old, start = site.control, time.monotonic()
        old.freeze()
        async with asyncio.timeout(5):
            while not old.is_frozen:
                await asyncio.sleep(0)
        run.prove("frozen", old.is_frozen)
        site.control = old.twin()
        try:
            document, request, sign = site.edited(run.chance.randrange(site.of.hosts))
            site.put(document)
            await site.restart()
            run.figures["on_the_other"] = await site.seen(request, sign) - start
            run.prove("still frozen", old.is_frozen)
        finally:
            await old.end()
    run.count(tally)


@fault("f44", hundred, exit=Limit("s", 5), in_sync_after_open=Limit("s", 2.5))
async def stopped(run: Run, site: Site[Fed]) -> None:
    """The control plane is asked to end, and does; Envoy goes on and finds the next one."""
    async with site.load(200).running() as tally:
        run.figures["exit"] = await site.control.stop()
        run.prove("ended by itself", site.control.status == 0)
        document, request, sign = site.edited(run.chance.randrange(site.of.hosts))
        site.put(document)
        opened = await site.restart()
        run.figures["in_sync_after_open"] = await site.seen(request, sign) - opened
    run.count(tally)
