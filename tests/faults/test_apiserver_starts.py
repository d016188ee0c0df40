"""F09, F10 and F20: the start of a replica, while an API server is slow, forgetful, or much to do.

Envoys that hang on it from before must not be told less than they have; whatever has to be written
is written after it serves.
"""

import asyncio
import contextlib
import time
from typing import Any

from crds.kinds import IN_CLUSTERS
from tests.cluster.double.faults import Request as Asked
from tests.cluster.double.faults import Rule
from tests.faults.rows import Limit, Run, fault
from tests.testbed import doubled
from tests.testbed.doubled import Site
from tests.testbed.world import Document

HOSTS, PAGES, STATUSES = 50, 700, 2_000
LONG_DELAY = 20.0

fifty = doubled.stage(HOSTS)
several_pages = doubled.stage(PAGES)
"""HTTPProxies are listed in three pages of 500, two for each host."""
many = doubled.stage(STATUSES // 2)


@fault("f09", fifty, delay=Limit("s"), opened_early=Limit("", 0), in_sync=Limit("s", 5))
async def slow_list(run: Run, site: Site) -> None:
    """The list of one kind takes long at the start: the xDS port stays closed until it is there."""
    await site.watched()
    kind = run.chance.choice(IN_CLUSTERS)
    is_long = run.number == 1 and not run.quick
    delay = LONG_DELAY if is_long else run.chance.uniform(0.5, 3)
    async with site.load(100).running() as tally:
        await site.replica.end()
        edit, request, sign = site.edited(run.chance.randrange(HOSTS))
        await site.write(edit)
        released = asyncio.Event()
        rule = site.double.script.add(Rule("list", kind.plural, hold=released))
        await site.replica.launch()
        await _until_met(site, rule)
        early = await _opened_within(site, delay)
        run.prove(f"held the list of {kind.plural}", rule.met)
        site.double.script.heal()
        released.set()
        start = time.monotonic()
        await site.replica.ready()
        seen = await site.seen(request, sign)
    run.count(tally)
    run.figures |= {"delay": delay, "opened_early": early, "in_sync": seen - start}


async def _until_met(site: Site, rule: Rule) -> None:
    async with asyncio.timeout(30):
        while not rule.met:
            await site.double.news()


async def _opened_within(site: Site, seconds: float) -> float:
    """How often the xDS port took a connection, or the replica said that it is ready."""
    end, opened = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", site.replica.port)
            writer.close()
            opened += 1
        opened += await site.replica.is_ready()
        await asyncio.sleep(0.05)
    return opened


@fault("f10", several_pages, expired=Limit("pages"), missing=Limit("", 0), wrong=Limit("", 0))
async def page_expires(run: Run, site: Site) -> None:
    """A list is so long that its next page has expired: it begins again, and nothing is missing."""
    await site.replica.end()
    times = run.chance.randint(1, 3)
    pages = {"page": 0}
    last = run.chance.randint(1, 2)

    def is_late(request: Asked) -> bool:
        pages["page"] = pages["page"] + 1 if "continue" in request.query else 0
        return pages["page"] >= last

    rule = site.double.script.add(Rule("list", "httpproxies", is_late, 410, times=times))
    async with site.load(50).running() as tally:
        await site.replica.start()
        run.prove("expired pages", rule.met)
        edit, request, sign = site.edited(run.chance.randrange(PAGES))
        await site.write(edit)
        await site.seen(request, sign)
    site.double.script.heal()
    run.count(tally)
    found = await site.replica.metrics()
    known = found['contour_dag_cache_object{kind="HTTPProxy"}']
    wrong = sum(it != 200 for it in await site.statuses())
    run.figures |= {"expired": rule.met, "missing": 2 * PAGES - known, "wrong": wrong}


@fault(
    "f20",
    many,
    patience=120,
    with_statuses=Limit("s"),
    without=Limit("s"),
    difference=Limit("s", 2),
    all_written=Limit("s"),
)
async def many_statuses(run: Run, site: Site) -> None:
    """Two thousand statuses have to be written at the start: the xDS port does not wait for it."""
    documents = [it for host in range(site.of.hosts) for it in site.of.host(host)]
    await site.told(documents)
    async with site.load(50).running() as tally:
        await site.replica.end()
        without = await site.replica.start()
        await site.replica.end()
        for document in documents:
            site.double.put(_untold(site.stored(document)))
        start = time.monotonic()
        with_them = await site.replica.start()
        written = sum(doubled.is_told(site.stored(it)) for it in documents)
        run.prove("not written when it was ready", len(documents) - written)
        await site.told(documents)
        told = time.monotonic() - start
    run.count(tally)
    run.figures |= {
        "with_statuses": with_them,
        "without": without,
        "difference": with_them - without,
        "all_written": told,
    }


def _untold(document: Document) -> dict[str, Any]:
    return {name: it for name, it in document.items() if name != "status"}
