"""Our Contour and the upstream one, each on an API server of its own, with the same world.

Both run at the same time, and each measurement alternates between them, so that other load on the
machine affects both. Compare processor time; seconds depend on the machine.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from random import Random

from hack.measuring import upstream
from hack.measuring.bench.in_cluster import all_told, seen
from hack.measuring.bench.request_cost import Asked, Costs, answering, compared
from hack.measuring.cluster import site
from hack.measuring.cluster.site import Ground, Site
from hack.measuring.upstream import Placed
from tests.testbed import caller, probe, replicas, world
from tests.testbed.figures import Figure
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import calibration, load_average, processor
from tests.testbed.world import Document, World

PROBES = 0.002
"""Seconds between two requests: the precision of an edit's delay."""
PAUSE = 0.3
"""Seconds to wait after an edit until its status is written."""


@dataclass(slots=True)
class Seen:
    """The figures of one of the two."""

    started: float = 0.0
    """Seconds from the start of its process until the last host answered."""
    start: float = 0.0
    """Seconds of its processor time for that."""
    delays: list[float] = field(default_factory=list)
    """Seconds from an edit until an answer showed it."""
    control: list[float] = field(default_factory=list)
    """Its processor time, in seconds, of each edit."""
    envoy: list[float] = field(default_factory=list)
    """Envoy's processor time, in seconds, of each edit."""
    resident: float = 0.0
    """Memory in MiB."""

    def figures(self, name: str) -> Iterator[Figure]:
        """Its rows of the table."""
        yield Figure(f"{name}: start to the last host served", self.started, "s")
        yield Figure(f"{name}: its processor time until then", self.start, "s")
        yield Figure(f"{name}: edit to answer, median", statistics.median(self.delays) * 1000, "ms")
        yield Figure(f"{name}: processor time an edit", statistics.mean(self.control) * 1000, "ms")
        envoy = statistics.mean(self.envoy) * 1000
        yield Figure(f"{name}: Envoy's processor time an edit", envoy, "ms")
        yield Figure(f"{name}: memory", self.resident, "MiB")


@measures("peer", "bench")
def peer(options: Options) -> Iterator[Figure]:
    """One HTTPProxy, Service and EndpointSlice a host; starts, edits, and requests through both."""
    upstream.program().build()
    print(f"upstream Contour {upstream.version()}")
    for hosts in (10,) if options.quick else (10, 1_000):
        chance = options.random(f"peer {hosts}")
        ours, theirs, costs = asyncio.run(_measured(hosts, options, chance))
        yield from ours.figures(f"{hosts:,} hosts, ours")
        yield from theirs.figures(f"{hosts:,} hosts, upstream")
        yield from costs.figures(f"{hosts:,} hosts, a request", "upstream", 1.0)
        options.note("peer", hosts=hosts, ours=costs.ours, theirs=costs.theirs)
    yield Figure("calibration: a fixed loop", calibration() * 1000, "ms")
    yield Figure("load average", load_average(), "")


async def _measured(hosts: int, options: Options, chance: Random) -> tuple[Seen, Seen, Costs]:
    ours, theirs = Seen(), Seen()
    async with answering(replicas.own_address()) as backend, _both(backend) as (us, them):
        of = World(hosts, hosts, backends=(backend,), children=False)
        for it, found in ((us, ours), (them, theirs)):
            await _started(it, of, found)
        for number in range(options.times(50, 10)):
            for it, found in ((us, ours), (them, theirs)):
                await _edited(it, of.root(chance.randrange(hosts)), f"edit-{number}", found)
        for it, found in ((us, ours), (them, theirs)):
            found.resident = it.replica.resident
        names = [world.fqdn(it) for it in range(hosts)]
        ask = [Asked(it.envoy.pid, _ground(it).port, names, chance) for it in (us, them)]
        return ours, theirs, compared(ask[0], ask[1], options.times(21, 5), 15_000)


@contextlib.asynccontextmanager
async def _both(backend: int) -> AsyncIterator[tuple[Site, Placed]]:
    async with (
        site.ground() as ground,
        site.placed(ground, (backend,)) as us,
        site.ground() as other,
        upstream.placed(other) as them,
    ):
        yield us, them


def _ground(it: Site | Placed) -> Ground:
    return it if isinstance(it, Site) else it.ground


async def _started(it: Site | Placed, of: World, found: Seen) -> None:
    """Starts it and its Envoy, after the world exists."""
    ground = _ground(it)
    await ground.write(of.documents())
    start = time.monotonic()
    await it.replica.start()
    await it.envoy.start()
    await seen(ground.port, of.hosts - 1)
    found.started, found.start = time.monotonic() - start, processor(it.replica.pid)
    await all_told(ground.api, map(of.root, range(of.hosts)))


async def _edited(it: Site | Placed, document: Document, shown: str, found: Seen) -> None:
    """Gives a route another header."""
    policy = {"set": [{"name": "x-edit", "value": shown}]}
    document["spec"]["routes"][0]["responseHeadersPolicy"] = policy
    ground = _ground(it)
    connection = Connection(ground.port)
    control, envoy = processor(it.replica.pid), processor(it.envoy.pid)
    start = time.monotonic()
    await ground.api.ask(caller.merged(document))
    at = await probe.observed(
        connection,
        Request(document["spec"]["virtualhost"]["fqdn"]),
        lambda answer: answer.headers.get("x-edit") == shown,
        pause=PROBES,
    )
    connection.close()
    await asyncio.sleep(PAUSE)
    found.delays.append(at - start)
    found.control.append(processor(it.replica.pid) - control)
    found.envoy.append(processor(it.envoy.pid) - envoy)
