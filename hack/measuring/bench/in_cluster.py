"""`contour serve` on a real API server with 10,000 HTTPProxies: its start, and a burst of them."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hack.measuring.cluster import site
from hack.measuring.cluster.site import Shares, Site
from tests.testbed import caller, world
from tests.testbed.caller import Caller
from tests.testbed.figures import Figure
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import load_average, processor
from tests.testbed.world import Document, World

MANY, QUICK = 10_000, 1_000


@dataclass(slots=True)
class Start:
    """The figures of a start."""

    listed: float
    ready: float
    used: float
    envoy: float
    told: float
    resident: float
    most: float
    shares: Shares


@measures("cluster-cold-start", "bench")
def cold_start(options: Options) -> Iterator[Figure]:
    """HTTPProxies, Services and EndpointSlices, as many of each, from the start of the process."""
    number = QUICK if options.quick else MANY
    for found in asyncio.run(_started(number, options.times(3, 1))):
        label = f"{number:,} of each"
        yield Figure(
            "a bare list of them from the API server, one after another", found.listed, "s"
        )
        yield Figure(f"{label}: start to xDS ready", found.ready, "s", 10)
        yield Figure(f"{label}: processor time of contour until then", found.used, "s")
        yield Figure(f"{label}: Envoy's start to its first answer", found.envoy, "s")
        yield Figure(f"{label}: start to all statuses written", found.told, "s")
        yield Figure(f"{label}: memory with all statuses written", found.resident, "MiB", 450)
        yield Figure(f"{label}: the most memory", found.most, "MiB", 600)
        yield from shared(found.shares)
        yield Figure("load average", load_average(), "")


async def _started(number: int, times: int) -> list[Start]:
    async with site.running() as it:
        of = World(number, number, backends=it.backends, children=False)
        await it.write(of.documents())
        return [await _start(it, of) for _ in range(times)]


async def _start(it: Site, of: World) -> Start:
    listed = await _listed(it)
    begin = time.monotonic()
    ready = await it.replica.start()
    used = processor(it.replica.pid)
    with site.shares({**it.control_plane.pids, "contour": it.replica.pid}) as shares:
        start = time.monotonic()
        await it.envoy.start()
        await seen(it.port, of.hosts - 1)
        first = time.monotonic() - start
        await all_told(it.api, map(of.root, range(of.hosts)))
    told = time.monotonic() - begin
    found = Start(listed, ready, used, first, told, it.replica.resident, it.replica.most, shares)
    await it.envoy.end()
    await it.replica.end()
    await _untold(it, of)
    return found


async def _listed(it: Site) -> float:
    """Lists the objects, one kind after the other, which every client has to do."""
    start = time.monotonic()
    for kind, version in (
        ("HTTPProxy", "v1"),
        ("Service", "v1"),
        ("EndpointSlice", "v1"),
    ):
        await it.api.ask(caller.Call("GET", caller.everywhere(kind, version)))
    return time.monotonic() - start


async def _untold(it: Site, of: World) -> None:
    """Removes the statuses, so that the next start has to write them."""
    body = b'{"status":null}'
    paths = (caller.path(of.root(host)) for host in range(of.hosts))
    calls = (caller.Call("PATCH", f"{path}/status", body, caller.MERGE) for path in paths)
    await it.api.all(calls)


async def seen(port: int, host: int) -> None:
    """Waits until a host answers."""
    connection = Connection(port)
    try:
        async with asyncio.timeout(60):
            while (await connection.ask(Request(world.fqdn(host)))).status != 200:
                await asyncio.sleep(0.005)
    finally:
        connection.close()


async def all_told(api: Caller, documents: Iterable[Document]) -> float:
    """Waits until the status of each of these HTTPProxies says that its newest generation is
    valid."""
    waiting = {(it["metadata"]["namespace"], it["metadata"]["name"]) for it in documents}
    at = time.monotonic()
    async with asyncio.timeout(180):
        while waiting:  # API servers may end watches at any time
            async with api.watch(caller.everywhere("HTTPProxy", "v1")) as sightings:
                async for sighting in sightings:
                    at = sighting.at
                    waiting.discard(_told(sighting.object))
                    if not waiting:
                        break
    return at


def _told(document: Document) -> tuple[str, str]:
    """The key of this HTTPProxy if its status says that it is valid, else nothing."""
    metadata = document["metadata"]
    condition = caller.status_condition(document, "Valid")
    is_newest = condition.get("observedGeneration") == metadata["generation"]
    is_valid = is_newest and condition["status"] == "True"
    return (metadata["namespace"], metadata["name"]) if is_valid else ("", "")


def shared(shares: Shares) -> Iterator[Figure]:
    """The share of each process in the machine."""
    for name, percent in shares.percent.items():
        yield Figure(f"of a core meanwhile: {name}", percent, "%")
        yield Figure(f"processor time meanwhile: {name}", shares.seconds[name], "s")


@dataclass(slots=True)
class Burst:
    """The figures of a burst, from the first creation on."""

    created: float = 0.0
    served: float = 0.0
    told: float = 0.0
    resident: float = 0.0
    lost: int = 0


@measures("cluster-burst", "bench")
def burst(options: Options) -> Iterator[Figure]:
    """HTTPProxies created as fast as the API server takes them, from the first call on."""
    number = QUICK if options.quick else MANY
    found, shares = asyncio.run(_burst(number))
    label = f"{number:,} HTTPProxies"
    yield Figure(f"{label}: all created", found.created, "s")
    yield Figure(f"{label}: all serving", found.served, "s", 15)
    yield Figure(
        f"{label}: the last one serving after its creation", found.served - found.created, "s"
    )
    yield Figure(f"{label}: all statuses written", found.told, "s", 30)
    yield Figure(f"{label}: answers but 404 and then 200", found.lost, "", 0)
    yield Figure(f"{label}: the most memory", found.resident, "MiB", 600)
    yield from shared(shares)
    yield Figure("load average", load_average(), "")


async def _burst(number: int) -> tuple[Burst, Shares]:
    async with site.running() as it:
        of = World(number, 100, backends=it.backends, children=False)
        shown = World(1, 100, backends=it.backends, children=False)
        await it.write(shown.documents())
        await it.replica.start()
        await it.envoy.start()
        await seen(it.port, 0)
        await all_told(it.api, [shown.root(0)])
        documents = [of.root(host) for host in range(1, number)]
        found = Burst()
        with site.shares(it.pids) as shares:
            await _created(it, documents, found)
        found.resident = it.replica.most
        return found, shares


async def _created(it: Site, documents: list[Document], found: Burst) -> None:
    start = time.monotonic()
    calls = [caller.created(document) for document in documents]
    async with asyncio.timeout(180), asyncio.TaskGroup() as tasks:
        told = tasks.create_task(all_told(it.api, documents))
        served = tasks.create_task(_served(it, len(documents), found))
        await it.api.all(calls)
        found.created = time.monotonic() - start
    found.served, found.told = served.result() - start, told.result() - start


async def _served(it: Site, number: int, found: Burst) -> float:
    """Requests each host until it answers, in the order of their creation."""
    connection = Connection(it.port)
    for host in range(1, number + 1):
        while (answer := await connection.ask(Request(world.fqdn(host)))).status != 200:
            found.lost += answer.status != 404
            await asyncio.sleep(0.02)
    connection.close()
    return time.monotonic()
