"""F31, F34 and F40: hosts with Services of their own, thousands at once, without endpoints."""

import asyncio
import time
from collections.abc import AsyncIterator

from tests.faults.rows import Limit, Run, fault
from tests.testbed import probe, served, world
from tests.testbed.fed import Fed
from tests.testbed.load import Connection, Request
from tests.testbed.served import Site, is_ok
from tests.testbed.world import Document, World

ADDED, BURST, BATCH = 150, 1_000, 20

hundred = served.stage(100, Fed)


@fault("f31", hundred, worst_add=Limit("s", 1))
async def added(run: Run, site: Site[Fed]) -> None:
    """Hosts with Services of their own are added: each answers 404, then 200, nothing else."""
    connection, worst = Connection(site.port), 0.0
    start = site.of.hosts + ADDED * run.number
    async with site.load(200).running() as tally:
        for number in range(start, start + ADDED):
            documents = _host_of_its_own(site.of, number)
            request = Request(world.fqdn(number))
            before = await connection.ask(request)
            run.prove("404 before", before.status == 404)
            async with asyncio.TaskGroup() as tasks:
                seen = tasks.create_task(
                    probe.observed(connection, request, is_ok, frozenset({404}))
                )
                took = await site.change(documents)
            worst = max(worst, seen.result() - took.came)
            run.sent += 1
    connection.close()
    run.count(tally)
    run.figures["worst_add"] = worst
    await site.change(gone=[it for n in range(start, start + ADDED) for it in _own(site, n)])


@fault("f34", hundred, ready=Limit("s", 2))
async def without_endpoints(run: Run, site: Site[Fed]) -> None:
    """A Service has no endpoints when Envoy starts: it is ready at once, and serves the others."""
    service = run.chance.randrange(site.of.services)
    empty = site.of.slice(service) | {"endpoints": []}
    await site.change([empty])
    await site.seen(Request(world.fqdn(service)), lambda it: it.status == 503)
    await site.envoy.end()
    start = time.monotonic()
    await site.envoy.start()
    run.figures["ready"] = time.monotonic() - start
    statuses = await site.statuses()
    run.sent += len(statuses)
    starved = {it for it, status in enumerate(statuses) if status == 503}
    run.prove("hosts without endpoints", len(starved))
    run.expect(starved == set(range(service, site.of.hosts, site.of.services)), f"{starved}")
    run.expect(set(statuses) == {200, 503}, f"{set(statuses)}")
    await site.change([site.of.slice(service)])
    await site.seen(Request(world.fqdn(service)), is_ok, {503})


@fault(
    "f40",
    hundred,
    created_within=Limit("s"),
    last_one_live=Limit("s", 2),
    memory=Limit("MiB", 600),
)
async def burst(run: Run, site: Site[Fed]) -> None:
    """A thousand hosts are created within half a second (10,000 within five): all are served."""
    before, start = await site.envoy.tables(), time.monotonic()
    first = 10_000 + BURST * run.number
    async with site.load(200).running() as tally:
        async for number in _paced(BURST // BATCH, 0.5 * BATCH / BURST):
            some = range(first + BATCH * number, first + BATCH * (number + 1))
            await site.change([it for host in some for it in site.of.host(host)])
        created, last = time.monotonic(), first + BURST - 1
        # Tables of hosts that come in one response are taken by Envoy one after the other, so the
        # last host may be served a moment before another.
        sampled = run.chance.sample(range(first, first + BURST), 50)
        waits = [site.seen(Request(world.fqdn(it)), is_ok, {404}) for it in (*sampled, last)]
        live = max([await it for it in waits])
    after = await site.envoy.tables()
    run.prove("tables changed", sum(before.get(it) != when for it, when in after.items()))
    run.count(tally)
    run.figures |= {
        "created_within": created - start,
        "last_one_live": live - created,
        "memory": site.control.resident,
    }
    gone = [it for host in range(first, first + BURST) for it in site.of.host(host)]
    await site.change(gone=gone)


async def _paced(number: int, interval: float) -> AsyncIterator[int]:
    """Counts, at this pace; what comes late is not made up for by waiting less than nothing."""
    start = time.monotonic()
    for it in range(number):
        await asyncio.sleep(max(0.0, start + it * interval - time.monotonic()))
        yield it


def _own(site: Site[Fed], number: int) -> list[Document]:
    return _host_of_its_own(site.of, number)


def _host_of_its_own(of: World, number: int) -> list[Document]:
    """A host whose Service nobody else uses."""
    root = of.root(number)
    root["spec"].pop("includes")
    root["spec"]["routes"][0]["services"] = [{"name": f"service-{number}", "port": 80}]
    return [of.service(number), of.slice(number), root]
