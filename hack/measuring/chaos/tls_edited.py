"""A tenant edits the TLS of some hosts all the time: this may not affect others nor fill Envoy up.

Ten edits a second change the name of a host and the TLS versions of another one by turns. Envoy
keeps the replaced parts of a listener until the drain time is over, which is the product's here.
Other tenants add a TLS host now and then, and must not wait long for it. Long connections to hosts
that are not edited must not be cut, nor those to the edited one before the drain time.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crds.draining import DRAIN_SECONDS, drain_time
from tests.testbed import longlived, probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Request
from tests.testbed.longlived import Lasting, Target
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site, is_ok
from tests.testbed.world import Document, World

NAME = "tls-edited-for-long"
HOSTS, CERTIFICATES, RATE = 1000, 10, 10
RENAMED, FLIPPED, STEADY = 1, CERTIFICATES, 0
SECONDS, QUICK_SECONDS = 900.0, 150.0
BETWEEN_NEWCOMERS = 3.0
MAY_BE = frozenset({probe.NO_CONNECTION, 404, 421})


@dataclass
class Run:
    """The observations of a run."""

    seconds: float
    before: float = 0.0  # MiB
    most: float = 0.0
    edits: int = 0
    newcomers: list[float] = field(default_factory=list)  # seconds until each was served
    held: list[float] = field(default_factory=list)  # seconds that WebSockets lasted
    lasting: Lasting = field(default_factory=Lasting)


@measures(NAME)
def tls_edited_for_long(options: Options) -> Iterator[Figure]:
    """15 minutes; with `--quick` two and a half, which is longer than twice the drain time."""
    it = asyncio.run(_run(QUICK_SECONDS if options.quick else SECONDS))
    options.note(NAME, seconds=it.seconds, edits=it.edits, before=it.before, most=it.most,
                 newcomers=it.newcomers, held=it.held, cut=dict(it.lasting.cut))  # fmt: skip
    yield Figure("seconds", it.seconds, "s")
    yield Figure("edits a second", it.edits / it.seconds, "", RATE * 0.9, at_least=True)
    yield Figure("Envoy's memory before", it.before, "MiB")
    yield Figure("growth of Envoy, at most", it.most - it.before, "MiB", 100)
    yield Figure("8 s streams, HTTP/2 streams and WebSockets on hosts that nobody edits, whole",
                 it.lasting.whole.total(), "")  # fmt: skip
    yield Figure("of these cut", it.lasting.cut.total(), "", 0)
    yield Figure("WebSockets on the edited host, shortest", min(it.held), "s",
                 DRAIN_SECONDS, at_least=True)  # fmt: skip
    yield Figure("hosts that others added", len(it.newcomers), "")
    for share, name in ((0.5, "median"), (0.99, "p99")):
        value = percentile(it.newcomers, share) * 1000
        target = 1000 if share == 0.99 else None
        yield Figure(f"event to served over TLS, {name}", value, "ms", target)


async def _run(seconds: float) -> Run:
    run = Run(seconds)
    async with backends(2) as ports:
        of = World(HOSTS, 10, CERTIFICATES, ports, children=False)
        documents = [world.allow_websockets(it) for it in of.documents()]
        documents += [of.secret(FLIPPED), _edited(of, 0)]
        async with served.running(of, documents, drain=drain_time(DRAIN_SECONDS)) as it:
            steady = Target(it.tls_port, world.fqdn(STEADY), tls=True)
            async with longlived.running(steady) as run.lasting:
                await asyncio.sleep(1)
                run.before = it.envoy.resident
                async with asyncio.timeout(seconds + 120), asyncio.TaskGroup() as tasks:
                    until, one_at_a_time = time.monotonic() + seconds, asyncio.Lock()
                    tasks.create_task(_edit(it, of, run, until, one_at_a_time))
                    tasks.create_task(_arrive(it, of, run, until, one_at_a_time))
                    tasks.create_task(_hold(it, run, until))
                run.most = max(run.most, it.envoy.resident)
    return run


async def _edit(it: Site[Fed], of: World, run: Run, until: float, turn: asyncio.Lock) -> None:
    began = time.monotonic()
    while time.monotonic() < until:
        async with turn:
            await it.change([_edited(of, run.edits)])
        run.edits += 1
        run.most = max(run.most, it.envoy.resident)
        await asyncio.sleep(max(0.0, began + run.edits / RATE - time.monotonic()))


def _edited(of: World, number: int) -> Document:
    """An edit: a new host name or other TLS versions, by turns."""
    if number % 2:
        root = of.root(RENAMED)
        root["spec"]["virtualhost"]["fqdn"] = f"renamed-{number}.example.com"
    else:
        root = of.root(FLIPPED)
        version = "1.3" if number % 4 else "1.2"
        root["spec"]["virtualhost"]["tls"] = {
            "secretName": f"cert-{FLIPPED}",  # of no other host: each edit replaces a chain
            "minimumProtocolVersion": version,
        }
    return world.allow_websockets(root)


async def _arrive(it: Site[Fed], of: World, run: Run, until: float, turn: asyncio.Lock) -> None:
    """Adds a host of another tenant."""
    number = HOSTS
    while time.monotonic() < until:
        name = world.fqdn(number)
        async with turn:
            took = await it.change(_put(of, number))
        connection = Connection(it.tls_port, server_name=name)
        seen = await probe.observed(connection, Request(name), is_ok, may_be=MAY_BE, pause=0.02)
        connection.close()
        run.newcomers.append(seen - took.came)
        number += 1
        await asyncio.sleep(BETWEEN_NEWCOMERS)


def _put(of: World, number: int) -> Sequence[Document]:
    return [world.allow_websockets(of.root(number))]


async def _hold(it: Site[Fed], run: Run, until: float) -> None:
    """Holds WebSockets on the edited host, one after the other, each for as long as Envoy keeps
    it."""
    while time.monotonic() + drain_time(DRAIN_SECONDS) + 5 < until or not run.held:
        target = Target(it.tls_port, world.fqdn(FLIPPED), tls=True)
        began = time.monotonic()
        async with longlived.running(target, streams=0, sockets=1) as lasting:
            while not lasting.cut and time.monotonic() < until:
                await asyncio.sleep(0.1)
        if not any("WebSocket" in found and "Handshake" in found for found in lasting.cut):
            run.held.append(time.monotonic() - began)  # else: refused by the old configuration
