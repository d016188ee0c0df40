"""From a write to a real API server until an answer of Envoy shows it; and irrelevant writes.

Every change is timed from the moment its request is sent. The lower bounds of every control plane
are timed as well: the API server's own answer, and the event on a bare watch.
"""

import asyncio
import base64
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

from hack.measuring.bench.in_cluster import all_told, seen, shared
from hack.measuring.cluster import site
from hack.measuring.cluster.site import Shares, Site
from tests.testbed import caller, probe, world
from tests.testbed.caller import Call, Sighting
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import load_average
from tests.testbed.world import Document, World

PROBES = 0.001
"""Seconds between two requests: the precision of the delays, and a pause for other processes."""
TARGETS = {1_000: (17, 60), 10_000: (None, 120)}
"""Mean and 99th percentile in milliseconds, by the number of routes."""
PROCESSOR = 5
"""Milliseconds of the instance's processor time for an edit: event, response, and status."""
STATUSES = 0.3
"""Seconds to wait until the last status is written."""
EDITED, CREATED = "one edited", "one created"


@dataclass(slots=True)
class Delays:
    """The delays of one kind of change, in seconds after it was sent."""

    answered: list[float] = field(default_factory=list)  # by the API server
    told: list[float] = field(default_factory=list)  # to a bare watch
    served: list[float] = field(default_factory=list)  # by Envoy


@measures("cluster-change", "bench")
def change(options: Options) -> Iterator[Figure]:
    """One HTTPProxy edited or created, with 1,000 and with 10,000 of them there."""
    times = options.times(300, 100)
    for hosts in (1_000,) if options.quick else tuple(TARGETS):
        chance = options.random(f"cluster-change {hosts}")
        found = asyncio.run(_changed(hosts, times, chance))
        mean, most = TARGETS[hosts]
        for label, (delays, shares) in found.items():
            name = f"{hosts:,} routes, {label}"
            yield Figure(f"{name}: sent to served, mean", _mean(delays.served), "ms", mean)
            yield Figure(f"{name}: sent to served, median", _share(delays.served, 0.5), "ms")
            yield Figure(f"{name}: sent to served, p99", _share(delays.served, 0.99), "ms", most)
            yield Figure(f"{name}: to the API server's answer, mean", _mean(delays.answered), "ms")
            yield Figure(f"{name}: to the event of a bare watch, mean", _mean(delays.told), "ms")
            yield Figure(f"{name}: the same, p99", _share(delays.told, 0.99), "ms")
            beyond = [a - b for a, b in zip(delays.served, delays.told, strict=True)]
            yield Figure(f"{name}: event to served, mean", _mean(beyond), "ms")
            yield Figure(f"{name}: event to served, p99", _share(beyond, 0.99), "ms")
            options.note("cluster-change", hosts=hosts, label=label, served=delays.served,
                         told=delays.told, answered=delays.answered)  # fmt: skip
            used = shares.seconds["contour"] / times * 1000
            target = PROCESSOR if label == EDITED else None
            yield Figure(f"{name}: processor time of contour", used, "ms", target)
            yield from shared(shares)
        yield Figure("load average", load_average(), "")


async def _changed(hosts: int, times: int, chance: Random) -> dict[str, tuple[Delays, Shares]]:
    async with site.running() as it:
        of = World(hosts, 100, backends=it.backends, children=False)
        await _served(it, of)
        edited, added = Delays(), Delays()
        async with _watching(it) as watched:
            with site.shares(it.pids) as while_edited:
                for number in range(times):
                    await asyncio.sleep(chance.uniform(0.01, 0.05))
                    await watched.edited(of, chance.randrange(hosts), number, edited)
                await asyncio.sleep(STATUSES)
            with site.shares(it.pids) as while_created:
                for number in range(times):
                    await asyncio.sleep(chance.uniform(0.01, 0.05))
                    await watched.added(of.root(hosts + number), added)
                await asyncio.sleep(STATUSES)
        return {EDITED: (edited, while_edited), CREATED: (added, while_created)}


async def _served(it: Site, of: World) -> None:
    """Creates the world; waits until it is served and its statuses are written."""
    await it.write(of.documents())
    await it.replica.start()
    await it.envoy.start()
    await seen(it.port, of.hosts - 1)
    await all_told(it.api, map(of.root, range(of.hosts)))


@dataclass(slots=True)
class Watched:
    """A bare watch of HTTPProxies, in parallel with the writes."""

    site: Site
    _sightings: AsyncIterator[Sighting]

    async def edited(self, of: World, host: int, number: int, found: Delays) -> None:
        """Gives a route of an HTTPProxy another header."""
        document, shown = of.root(host), f"edit-{number}"
        policy = {"set": [{"name": "x-edit", "value": shown}]}
        document["spec"]["routes"][0]["responseHeadersPolicy"] = policy
        call = caller.merged(document)
        await self._timed(call, document, lambda it: it.headers.get("x-edit") == shown, found)

    async def added(self, document: Document, found: Delays) -> None:
        """Creates an HTTPProxy with a host of its own."""
        await self._timed(caller.created(document), document, lambda it: it.status == 200, found)

    async def _timed(self, call: Call, document: Document, sign: probe.Sign, found: Delays) -> None:
        connection = Connection(self.site.port)
        request = Request(document["spec"]["virtualhost"]["fqdn"])
        await connection.ask(request)
        start = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            served = tasks.create_task(
                probe.observed(connection, request, sign, frozenset({200, 404}), PROBES)
            )
            told = tasks.create_task(self._told(document["metadata"]["name"]))
            await self.site.api.ask(call)
            found.answered.append(time.monotonic() - start)
        connection.close()
        found.served.append(served.result() - start)
        found.told.append(told.result() - start)

    async def _told(self, name: str) -> float:
        """When the next event of that HTTPProxy came that is not caused by a write of its
        status."""
        async for sighting in self._sightings:
            metadata = sighting.object["metadata"]
            condition = caller.status_condition(sighting.object, "Valid")
            is_new = condition.get("observedGeneration") != metadata["generation"]
            if metadata["name"] == name and is_new:
                return sighting.at
        raise EOFError("the watch has ended")


@asynccontextmanager
async def _watching(it: Site) -> AsyncIterator[Watched]:
    path = caller.everywhere("HTTPProxy", "v1")
    found = await it.api.ask(Call("GET", f"{path}?limit=1"))
    version = found["metadata"]["resourceVersion"]
    async with it.api.watch(path, version) as sightings:
        yield Watched(it, sightings)


@measures("cluster-secrets", "bench")
def secrets(options: Options) -> Iterator[Figure]:
    """Secrets that nobody refers to are written 200 times a second."""
    seconds = 10 if options.quick else 30
    for label, kind in (("of Helm's type", "helm.sh/release.v1"), ("of any type", "Opaque")):
        found = asyncio.run(_churned(kind, seconds))
        yield Figure(f"Secrets {label}: writes a second", found.rate, "1/s", 190, at_least=True)
        yield Figure(f"Secrets {label}: recomputations", found.settlings, "", 0)
        yield Figure(f"Secrets {label}: rules run", found.rules, "", 0)
        yield Figure(f"Secrets {label}: of a core: contour", found.busy, "%", 5)
        yield Figure(f"Secrets {label}: of a core without any writes: contour", found.idle, "%")
        yield Figure("load average", load_average(), "")


@dataclass(frozen=True, slots=True)
class Churn:
    """The effects of the writes."""

    rate: float
    settlings: float
    rules: float
    busy: float
    idle: float


async def _churned(kind: str, seconds: int) -> Churn:
    async with site.running() as it:
        of = World(1_000, 100, backends=it.backends, children=False)
        await _served(it, of)
        secrets = [_secret(number, kind, 0) for number in range(50)]
        await it.api.all(map(caller.created, secrets))
        await asyncio.sleep(1)
        with site.shares(it.pids) as idle:
            await asyncio.sleep(seconds / 3)
        before = await it.replica.metrics()
        with site.shares(it.pids) as busy:
            written = await _written(it, kind, seconds)
        after = await it.replica.metrics()
        return Churn(
            rate=written / busy.lasted,
            settlings=_grown("contour_dagrebuild_total", before, after),
            rules=_grown("contour_graph_rules_run_total", before, after),
            busy=busy.percent["contour"],
            idle=idle.percent["contour"],
        )


async def _written(it: Site, kind: str, seconds: int) -> int:
    start, sent, written = time.monotonic(), 0, 0

    async def write(number: int) -> None:
        nonlocal written
        with suppress(caller.Refused):  # in time, by an API server that is short of it
            await it.api.ask(caller.merged(_secret(number % 50, kind, number)))
            written += 1

    async with asyncio.TaskGroup() as tasks:
        while (passed := time.monotonic() - start) < seconds:
            while sent < passed * 200:
                sent += 1
                tasks.create_task(write(sent))
            await asyncio.sleep(0.002)
    return written


def _secret(number: int, kind: str, content: int) -> Document:
    data = {"release": base64.b64encode(f"{content}".encode() * 200).decode()}
    metadata = {"name": f"unrelated-{number}", "namespace": world.namespace(0)}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data,
    }  # fmt: skip


def _grown(name: str, before: dict[str, float], after: dict[str, float]) -> float:
    return after[name] - before[name]


@measures("cluster-gateway", "bench")
def gateway(options: Options) -> Iterator[Figure]:
    """A thousand HTTPRoutes on one Gateway come at once, and go."""
    number = options.times(1_000, 200)
    found, shares = asyncio.run(_attached(number))
    yield Figure(f"{number:,} HTTPRoutes: all created", found.created, "s")
    yield Figure("last creation to the count in the Gateway's status", found.counted, "s", 1)
    yield Figure("versions of the Gateway meanwhile", found.values, "", 100)
    yield Figure("attached at the end", found.attached, "", number, at_least=True)
    yield Figure("last creation to the last route serving", found.served, "s", 1)
    yield Figure("last removal to none attached", found.emptied, "s", 2)
    yield Figure("versions of the Gateway meanwhile", found.values_of_removal, "", 100)
    yield from shared(shares)
    yield Figure("load average", load_average(), "")


@dataclass(slots=True)
class Attached:
    """The times of the routes, in seconds after the last call."""

    created: float = 0.0
    counted: float = 0.0
    values: int = 0
    attached: int = 0
    served: float = 0.0
    emptied: float = 0.0
    values_of_removal: int = 0


async def _attached(number: int) -> tuple[Attached, Shares]:
    async with site.running() as it:
        of = World(1, 100, backends=it.backends, children=False)
        await it.write((*of.documents(), *world.gateway()))
        await it.replica.start()
        await it.envoy.start()
        await seen(it.port, 0)
        routes = [world.http_route(route, route % 100) for route in range(number)]
        found, count = Attached(), Count(it)
        await count.until(0)
        with site.shares(it.pids) as shares:
            start = time.monotonic()
            async with asyncio.TaskGroup() as tasks:
                counted = tasks.create_task(count.until(number))
                await it.api.all(map(caller.created, routes))
                created = time.monotonic()
                found.served = await _answers(it, routes[-1]) - created
            found.created, found.counted = created - start, counted.result() - created
            found.values, found.attached = count.values, count.attached
            async with asyncio.TaskGroup() as tasks:
                counted = tasks.create_task(count.until(0))
                await it.api.all(map(caller.deleted, routes))
                gone = time.monotonic()
            found.emptied, found.values_of_removal = counted.result() - gone, count.values
        return found, shares


async def _answers(it: Site, route: Document) -> float:
    connection = Connection(it.port)
    request = Request(route["spec"]["hostnames"][0])
    try:
        return await probe.observed(
            connection, request, lambda found: found.status == 200, frozenset({200, 404}), PROBES
        )
    finally:
        connection.close()


@dataclass(slots=True)
class Count:
    """The number of routes in the Gateway's status, and how many versions of it there were."""

    site: Site
    values: int = 0
    attached: int = -1
    _last: str = ""

    async def until(self, number: int) -> float:
        """When the status had this number."""
        self.values = 0
        while True:
            path = caller.everywhere("Gateway", "v1")
            async with asyncio.timeout(120), self.site.api.watch(path) as sightings:
                async for sighting in sightings:
                    self._note(sighting.object)
                    if self.attached == number:
                        return sighting.at

    def _note(self, found: Document) -> None:
        version = found["metadata"]["resourceVersion"]
        self.values += version != self._last
        self._last = version
        listeners = found.get("status", {}).get("listeners", ())
        self.attached = sum(it["attachedRoutes"] for it in listeners) if listeners else -1


def _mean(seconds: list[float]) -> float:
    return statistics.mean(seconds) * 1000


def _share(seconds: list[float], share: float) -> float:
    return percentile(seconds, share) * 1000
