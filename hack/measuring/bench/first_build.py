"""The first build: from decoded objects to all xDS bytes, and the memory in use afterwards.

It runs as in `contour serve`: in turns with the health page, which another process requests all the
time. Other load on the machine affects seconds, so the targets are in processor time.
"""

import asyncio
import gc
import multiprocessing
import resource
import time
import urllib.request
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from contour import process
from contour.pages import health, settings
from contour.pages.listeners import Listeners
from contour.xds.server import Server
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from hack.measuring import fresh
from hack.measuring.metered import Metered
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.ports import free_port
from tests.testbed.programs import resident
from tests.testbed.world import World, batch

LARGEST = 100_000
"""The hosts of the largest world, which takes minutes and some GiB."""


class Built(NamedTuple):
    """The figures of one build. Times are in seconds, memory is in MiB."""

    decoding: float
    building: float
    silence: float
    size: int
    memory: float
    most: float
    first: float


@measures("first-build", "bench")
def first_build(options: Options) -> Iterator[Figure]:
    """Each size in a process of its own; the median over some runs."""
    for hosts, target in ((1_000, None), (10_000, 6.0)):
        times = options.times(3, 1)
        found = sorted((fresh.fresh(_build, hosts) for _ in range(times)), key=lambda it: it[1])
        yield from _figures(hosts, found[len(found) // 2], target, 450 if target else None)


@measures("largest-build", "bench")
def largest_build(options: Options) -> Iterator[Figure]:
    """A hundred thousand hosts, once; each is one HTTPProxy, Service and EndpointSlice."""
    hosts = LARGEST // 10 if options.quick else LARGEST
    share = hosts / LARGEST
    found = fresh.fresh(_build, hosts, children=False)
    yield from _figures(hosts, found, 45.0 * share, 3 * 1024 if share == 1 else None)


def _figures(
    hosts: int, found: Built, seconds: float | None, memory: float | None
) -> Iterator[Figure]:
    label = f"{hosts:,} hosts"
    yield Figure(f"{label}: raw to decoded objects, processor time", found.decoding, "s")
    yield Figure(f"{label}: to all xDS bytes, processor time", found.building, "s", seconds)
    yield Figure(f"{label}: longest silence of /healthz meanwhile", found.silence, "s", 0.2)
    yield Figure(f"{label}: the first change after it", found.first * 1000, "ms")
    yield Figure(f"{label}: xDS bytes", found.size / 2**20, "MiB")
    yield Figure(f"{label}: resident memory", found.memory, "MiB", memory)
    yield Figure(f"{label}: most of it", found.most, "MiB")


async def _build(hosts: int, *, children: bool = True) -> Built:
    of = World.of(hosts) if children else World(hosts, hosts, children=False)
    made = Metered(Server(()))
    made.controller.use_host_ports(HostPorts())
    pages = Listeners({"health": health.pages(health.Readiness({}))})
    site = settings.ListenAddress("127.0.0.1", free_port())
    await pages.update(settings.Sites({site: frozenset({"health"})}))
    with process.without_collections():
        start = time.process_time()
        found = batch(*of.documents())
        decoded = time.process_time()
        asking = _Asking(f"{site}/healthz")
        await asking.begin()
        begun = time.process_time()
        await made.build(found)
        building = time.process_time() - begun
        silence = await asking.end()
    del found
    types = made.server.fleet(DEFAULT_FLEET).store.types.values()
    size = sum(len(it.body()) for found in types for it in found.values())
    edit = batch(of.root(0, path="/first"))
    began = time.process_time()
    made.take(edit)
    first = time.process_time() - began
    gc.collect()
    await pages.close()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Built(decoded - start, building, silence, size, resident(), most, first)


class _Asking:
    """A process that requests a page again and again."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_ask, args=(url, there), daemon=True)

    async def begin(self) -> None:
        """Returns when it has got its first answer."""
        self._process.start()
        await asyncio.to_thread(self._here.recv)

    async def end(self) -> float:
        """The longest time between two answers, in seconds."""
        self._here.send(None)
        longest: float = await asyncio.to_thread(self._here.recv)
        self._process.join()
        return longest


def _ask(url: str, other: Connection) -> None:
    """Requests the page until the end is set; then sends the longest time without an answer."""
    longest, last = 0.0, None
    while not other.poll(0.01):
        with urllib.request.urlopen(url, timeout=600) as answer:
            answer.read()
        now = time.monotonic()
        if last is None:
            other.send(None)
        else:
            longest = max(longest, now - last)
        last = now
    other.send(longest)
