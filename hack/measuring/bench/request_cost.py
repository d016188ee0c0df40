"""The cost of a request in Envoy: configured by us, and configured by hand.

Both Envoys run at the same time and get the same requests in turn, so that other load on the
machine affects both; the figure is the ratio of their processor time. The one configured by hand
has only a router and our access log, so the difference is the cost of our filters.

A worker of Envoy with many connections spends less on each request than one with few, and which
worker accepts how many is left to chance. So each round has connections of its own: with the same
ones in all rounds, two Envoys of one configuration differed by up to a tenth.
"""

import asyncio
import contextlib
import json
import statistics
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hack.measuring import handwritten
from hack.measuring.rush import Rush
from tests.testbed import served, world
from tests.testbed.envoys import Envoy
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.ports import free_port
from tests.testbed.programs import calibration, load_average, processor
from tests.testbed.world import Document, World

TARGETS = {10: 1.15, 10_000: 1.5}
"""The ratio of processor time, by the number of hosts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An Envoy, and the hosts of the requests to it."""

    pid: int
    port: int
    hosts: Sequence[str]
    chance: Random

    def cost(self, number: int) -> float:
        """The microseconds of processor time for each of so many requests on new connections."""
        rush = Rush(self.port, self.hosts, self.chance)
        rush.send(number // 10)
        before = processor(self.pid)
        rush.send(number)
        used = processor(self.pid) - before
        rush.close()
        return used / number * 1e6


@dataclass(slots=True)
class Costs:
    """Microseconds of Envoy's processor time for a request, in successive rounds."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median, over all rounds, of the ratio of ours to theirs."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def figures(self, name: str, other: str, target: float) -> Iterator[Figure]:
        """The ratio with its target, and the two values that it is computed from."""
        yield Figure(f"{name}: ours to {other}", self.ratio, "", target)
        yield Figure(f"{name}: ours", statistics.median(self.ours), "µs")
        yield Figure(f"{name}: {other}", statistics.median(self.theirs), "µs")


@measures("request-cost", "bench")
def request_cost(options: Options) -> Iterator[Figure]:
    """Worlds of two sizes, answered by Envoy itself and by a backend."""
    rounds, number = options.times(21, 5), 5_000 if options.quick else 15_000
    for hosts, target in TARGETS.items():
        for is_direct in (True, False):
            name = f"{hosts:,} hosts, {'direct' if is_direct else 'proxied'}"
            chance = options.random(name)
            costs = asyncio.run(_measured(hosts, is_direct, rounds, number, chance))
            yield from costs.figures(name, "by hand", target)
            options.note("request-cost", name=name, ours=costs.ours, theirs=costs.theirs)
    yield Figure("calibration: a fixed loop", calibration() * 1000, "ms")
    yield Figure("load average", load_average(), "")


async def _measured(hosts: int, is_direct: bool, rounds: int, number: int, chance: Random) -> Costs:
    names = [world.fqdn(it) for it in range(hosts)]
    async with answering() as backend:
        of = World.of(hosts, backends=(backend,), children=False)
        documents = _answered(of) if is_direct else list(of.documents())
        async with served.running(of, documents) as site:
            logs = await access_logs(site.envoy)
            port = free_port()
            resources = (
                handwritten.direct(names, port, logs)
                if is_direct
                else handwritten.proxied(names, port, backend, of.services, logs)
            )
            async with _by_hand(resources) as other:
                return compared(
                    Asked(site.envoy.pid, site.port, names, chance),
                    Asked(other.pid, port, names, chance),
                    rounds,
                    number,
                )


def compared(ours: Asked, theirs: Asked, rounds: int, number: int) -> Costs:
    """Sends both the same load, round after round; the first round warms up."""
    found = Costs()
    for it in range(rounds + 1):
        # The order alternates, so that the effects of a pause before or after affect both alike.
        order = ((ours, found.ours), (theirs, found.theirs))
        for asked, kept in order if it % 2 else reversed(order):
            kept.append(asked.cost(number))
    for kept in (found.ours, found.theirs):
        kept.pop(0)
    return found


def _answered(of: World) -> list[Document]:
    """The same hosts, but Envoy answers without a backend."""
    routes = [{"directResponsePolicy": {"statusCode": 200, "body": "ok"}}]
    documents = [of.root(it) for it in range(of.hosts)]
    return [it | {"spec": it["spec"] | {"routes": routes}} for it in documents]


@contextlib.asynccontextmanager
async def answering(address: str = handwritten.LOOPBACK) -> AsyncIterator[int]:
    """A backend that answers faster than requests come; yields its port."""
    port = free_port()
    async with _by_hand(handwritten.direct(("*",), port, address=address)):
        yield port


@contextlib.asynccontextmanager
async def _by_hand(resources: handwritten.Message) -> AsyncIterator[Envoy]:
    with tempfile.TemporaryDirectory(prefix="by-hand-") as folder:
        envoy = Envoy(Path(folder), "by-hand")
        handwritten.configure(envoy, resources)
        await envoy.start()
        try:
            yield envoy
        finally:
            await envoy.end()


async def access_logs(envoy: Envoy) -> Sequence[handwritten.Message]:
    """The access log configuration of this Envoy."""
    dumped = json.loads(await envoy.page("/config_dump", resource="dynamic_listeners"))
    found = list(_managers(dumped))
    logs: list[handwritten.Message] = found[0].get("access_log", [])
    return logs


def _managers(found: Any) -> Iterator[handwritten.Message]:
    """Every HTTP connection manager within this configuration."""
    if isinstance(found, list):
        for it in found:
            yield from _managers(it)
    elif isinstance(found, dict):
        if str(found.get("@type", "")).endswith(".HttpConnectionManager"):
            yield found
        for it in found.values():
            yield from _managers(it)
