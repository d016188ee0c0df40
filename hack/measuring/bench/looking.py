"""The cost of inspecting an instance: `explain`, `analyze` and the dashboard at 10,000 hosts.

No inspection may block the event loop for long, and changes must not cost more than in an instance
that is not inspected. The targets are in processor time of the thread.
"""

import asyncio
import contextlib
import itertools
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import aiohttp

from contour.answers import explained
from contour.dashboard import listening
from contour.inspection import server
from dag.evaluation import written
from dag.fleetnames import DEFAULT_FLEET
from hack.measuring import edits, fresh, metered
from tests.testbed import world
from tests.testbed.figures import Figure, spread
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

HOSTS = 10_000
LONGEST = 10.0
"""Milliseconds for which an inspection may block the event loop at a time."""
_SECONDS = {"page hosts": 1.0, "findings": 2.0}
"""Limits of the processor time of whole inspections, in seconds."""
_PAIRS, _EDITS = 20, 50


@measures("looking", "bench")
def looking(options: Options) -> Iterator[Figure]:
    """One request explained, all findings, each page; and the same edits with and without."""
    hosts = HOSTS // 10 if options.quick else HOSTS
    took, looks = fresh.fresh(_looks, hosts, options.times(200, 20), options.seed)
    yield from spread(f"{hosts:,} hosts: explain one request", took, 50.0)
    for name, found in looks.items():
        target = _SECONDS.get(name)
        yield Figure(f"{hosts:,} hosts: {name}: processor time", found.seconds, "s", target)
        yield Figure(f"{name}: longest hold of the loop", found.longest * 1000, "ms", LONGEST)
    ratios = fresh.fresh(_ratios, hosts, options.times(_PAIRS, 10), options.seed)
    yield Figure("an edit while a dashboard is open, to one without", ratios[0], "x", 1.05)
    yield Figure("rules run by these edits, difference", ratios[1], "", 0)


@dataclass(frozen=True, slots=True)
class Look:
    """The cost of one inspection, in seconds of processor time of the event loop's thread."""

    seconds: float
    longest: float
    """The longest time between two moments at which something else could run."""


async def _looks(hosts: int, times: int, seed: int) -> tuple[list[float], dict[str, Look]]:
    chance = Random(seed)
    of = World.of(hosts, certificates=100)
    made, _ = metered.built(of.documents())
    await made.connect()
    explain = made.questions()["explain"]
    took: list[float] = []
    for _ in range(times):
        request = written.request(f"http://{world.fqdn(chance.randrange(hosts))}/a/b", "GET")
        question = explained.written(DEFAULT_FLEET, request)
        begun = time.thread_time()
        explain(question)
        took.append(time.thread_time() - begun)
    found: dict[str, Look] = {}
    async with _opened(made) as opened:
        for name in made.walks():
            found[name] = await _look(partial(opened.listing, name))
        for name, path in _PAGES.items():
            found[f"page {name}"] = await _look(partial(opened.page, path))
    return took, found


_PAGES = {
    "hosts": "",
    "hosts, searched": "?q=host-1",
    "objects": "/objects?all=yes",
    "objects with problems": "/objects",
    "Envoys": "/envoys",
}
"""The paths of pages by what they show."""


async def _look(look: Callable[[], Awaitable[object]]) -> Look:
    await look()  # the first call imports and compiles
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest = max(longest, now - last)
            last = now

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch())
        await asyncio.sleep(0)
        begun = time.thread_time()
        await look()
        took = time.thread_time() - begun
        watching.cancel()
    return Look(took, longest)


async def _ratios(hosts: int, pairs: int, seed: int) -> tuple[float, float]:
    """The median of the ratios of processor time, and how many more rules ran."""
    of = World.of(hosts, certificates=100)
    plain, _ = metered.built(of.documents())
    looked_at, _ = metered.built(of.documents())
    await plain.connect()
    await looked_at.connect()
    ratios, runs = [], 0
    async with _opened(looked_at) as opened:
        await opened.page("")
        for name in looked_at.walks():
            await opened.listing(name)
        of_each = [edits.route_edited(of, Random(seed)) for _ in range(2)]
        for _ in range(pairs):
            took: list[float] = []
            for made, kind, sign in zip((plain, looked_at), of_each, (-1, 1), strict=True):
                begun = time.thread_time()
                works = [await made.change(it) for it in itertools.islice(kind, _EDITS)]
                took.append(time.thread_time() - begun)
                runs += sign * sum(it.runs for it in works)
            ratios.append(took[1] / took[0])
    return statistics.median(ratios), abs(runs)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The dashboard and the inspection socket of an instance, with a client of each."""

    url: str
    browser: aiohttp.ClientSession
    command: aiohttp.ClientSession

    async def page(self, path: str) -> None:
        """A page of the dashboard, as a browser gets it."""
        await _got(self.browser, f"{self.url}{path}")

    async def listing(self, name: str) -> None:
        """The listing that a command of `contour` requests."""
        await _got(self.command, f"http://localhost/{name}")


async def _got(session: aiohttp.ClientSession, url: str) -> None:
    async with session.get(url) as answer:
        await answer.read()
        answer.raise_for_status()


@contextlib.asynccontextmanager
async def _opened(made: metered.Metered) -> AsyncIterator[_Opened]:
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder, "inspection")
        async with (
            listening.served(made, None) as url,
            server.served(socket, {}, made.walks(), made.questions()),
            aiohttp.ClientSession() as browser,
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as command,
        ):
            yield _Opened(url, browser, command)
