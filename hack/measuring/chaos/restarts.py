"""The control plane is killed and started again, under load, with 1,000 hosts.

While it is away a host is edited; an answer that shows the edit proves that Envoy is in sync with
the new process. Requests and lasting responses must not notice any of it.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from hack.measuring import registry, rig, world
from hack.measuring.figures import Figure, percentile
from hack.measuring.world import Document, World
from tests.testbed import longlived, probe
from tests.testbed.load import Connection, Load, Request, Tally
from tests.testbed.longlived import Target

NAME = "restarts"
HOSTS, RATE = 1_000, 300


@dataclass(slots=True)
class Seen:
    """Of every restart: seconds from the kill to the open port, and from that to the sync."""

    opened: list[float] = field(default_factory=list)
    synced: list[float] = field(default_factory=list)


@registry.CHAOS.measures(NAME)
def restarts(options: registry.Options) -> Iterator[Figure]:
    """Killed without a word, as often as asked for."""
    times = options.times(100, 5)
    seen, tally, lasting = asyncio.run(_run(times, options))
    yield Figure("kills", times, "")
    yield Figure("kills survived: the edit made meanwhile was served", len(seen.synced), "",
                 times, at_least=True)  # fmt: skip
    yield Figure("requests sent", tally.sent, "")
    yield Figure("requests lost", tally.lost, "", 0)
    yield Figure("lasting responses that were whole", lasting.whole.total(), "")
    yield Figure("of these cut", lasting.cut.total(), "", 0)
    yield Figure("kill to port open, median", percentile(seen.opened, 0.5), "s")
    yield Figure("kill to port open, slowest", max(seen.opened), "s", 3)
    yield Figure("port open to Envoy in sync, median", percentile(seen.synced, 0.5), "s")
    yield Figure("port open to Envoy in sync, p99", percentile(seen.synced, 0.99), "s", 2.5)


async def _run(times: int, options: registry.Options) -> tuple[Seen, Tally, longlived.Lasting]:
    seen, chance = Seen(), options.random(NAME)
    async with rig.backends(4) as ports:
        of = World.of(HOSTS, backends=ports)
        documents = {_identity(document): document for document in of.documents()}
        for document in documents.values():
            _allow_websockets(document)
        async with rig.running(documents.values()) as it:
            load = Load(it.port, [Request(world.fqdn(host)) for host in range(HOSTS)], RATE)
            target = Target(it.port, world.fqdn(0))
            async with load.running() as tally, longlived.running(target) as lasting:
                for number in range(times):
                    host = chance.randrange(HOSTS)
                    edit = of.child(host, header=f"edit {number}")
                    documents[_identity(edit)] = edit
                    await _restarted(it, documents, seen)
                    await _seen(it, Request(world.fqdn(host), "/api/v1"), f"edit {number}", seen)
                    options.note(NAME, run=number, open=seen.opened[-1], sync=seen.synced[-1])
    options.note(
        NAME, sent=tally.sent, failures=dict(tally.failures),
        whole=dict(lasting.whole), cut=dict(lasting.cut),
    )  # fmt: skip
    return seen, tally, lasting


async def _restarted(it: rig.Rig, documents: dict[tuple[str, ...], Document], seen: Seen) -> None:
    it.control.keep(documents.values())
    loop = asyncio.get_running_loop()
    start = loop.time()
    await it.control.kill()
    opened = await it.control.start()
    seen.opened.append(opened["open"] - start)


async def _seen(it: rig.Rig, request: Request, shown: str, seen: Seen) -> None:
    start = asyncio.get_running_loop().time()
    connection = Connection(it.port)
    await probe.observed(connection, request, lambda it: it.headers.get("x-edit") == shown)
    connection.close()
    seen.synced.append(asyncio.get_running_loop().time() - start)


def _identity(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    return document["kind"], metadata["namespace"], metadata["name"]


def _allow_websockets(document: Document) -> None:
    for route in document.get("spec", {}).get("routes", ()):
        route["enableWebsockets"] = True
