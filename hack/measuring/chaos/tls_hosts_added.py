"""TLS hosts are added to a busy listener: no long response may be cut.

A replaced listener drains: its connections end after the drain time, which is 3 seconds here, while
responses take 8. So every complete response proves that nothing was drained.
"""

import asyncio
from collections.abc import Iterator

from tests.testbed import longlived, probe, served, world
from tests.testbed.envoys import DRAIN_SECONDS, backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Load, Request
from tests.testbed.longlived import Lasting, Target
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site, is_ok
from tests.testbed.world import World

NAME = "tls-hosts-added"
HOSTS, ADDED, CERTIFICATES = 20, 50, 10
SECONDS = 20.0
MAY_BE = frozenset({probe.NO_CONNECTION, 404, 421})


@measures(NAME)
def tls_hosts_added(options: Options) -> Iterator[Figure]:
    """50 hosts, some with certificates that the listener does not have yet."""
    cut = sent = lost = served = whole = 0
    seconds: list[float] = []
    runs = options.times(3, 1)
    for run in range(runs):
        load, lasting, took = asyncio.run(_run())
        seconds += took
        served += len(took)
        sent, lost = sent + load.tally.sent, lost + load.tally.lost
        whole, cut = whole + lasting.whole.total(), cut + lasting.cut.total()
        options.note(
            NAME, run=run, sent=load.tally.sent, failures=dict(load.tally.failures),
            whole=dict(lasting.whole), cut=dict(lasting.cut), served=len(took),
        )  # fmt: skip
    yield Figure("runs", runs, "")
    yield Figure("hosts added and served", served, "", ADDED * runs, at_least=True)
    yield Figure("8 s streams, HTTP/2 streams and WebSockets that were whole", whole, "")
    yield Figure("of these cut", cut, "", 0)
    yield Figure("requests sent meanwhile", sent, "")
    yield Figure("of these lost", lost, "", 0)
    yield Figure("event to served over TLS, median", percentile(seconds, 0.5) * 1000, "ms")
    yield Figure("event to served over TLS, p99", percentile(seconds, 0.99) * 1000, "ms")


@measures("drain-is-noticed")
def drain_is_noticed(_: Options) -> Iterator[Figure]:
    """The opposite, to prove the proof: a change that does replace the chains has to cut."""
    lasting = asyncio.run(_drained())
    yield Figure("8 s streams and HTTP/2 streams cut by a drain", lasting.cut.total(), "", 1,
                 at_least=True)  # fmt: skip


async def _run() -> tuple[Load, Lasting, list[float]]:
    async with backends(2) as ports:
        of = World(HOSTS, 10, certificates=CERTIFICATES, backends=ports)
        documents = [world.allow_websockets(it) for it in of.documents()]
        async with served.running(of, documents) as it:
            target = Target(it.tls_port, world.fqdn(0), tls=True)
            requests = [Request(world.fqdn(0))]
            load = Load(it.tls_port, requests, 100, server_name=world.fqdn(0))
            async with load.running(), longlived.running(target) as lasting:
                await asyncio.sleep(1)  # everything is under way
                seconds = []
                for number in range(ADDED):
                    seconds.append(await _added(it, of, number))
                    await asyncio.sleep((SECONDS - 4) / ADDED)
    return load, lasting, seconds


async def _added(it: Site[Fed], of: World, number: int) -> float:
    """Adds a host; every fifth one has a certificate of its own."""
    root, child = of.host(HOSTS + number)
    put = [root, child]
    if number % 5 == 0:
        put.append(of.secret(HOSTS + number))
        root["spec"]["virtualhost"]["tls"]["secretName"] = f"cert-{HOSTS + number}"
    took = await it.change(put)
    name = world.fqdn(HOSTS + number)
    connection = Connection(it.tls_port, server_name=name)
    seen = await probe.observed(connection, Request(name), is_ok, may_be=MAY_BE)
    connection.close()
    return seen - took.came


async def _drained() -> Lasting:
    async with backends(2) as ports:
        of = World(HOSTS, 10, certificates=CERTIFICATES, backends=ports)
        async with served.running(of, map(world.allow_websockets, of.documents())) as it:
            target = Target(it.tls_port, world.fqdn(0), tls=True)
            async with longlived.running(target) as lasting:
                await asyncio.sleep(1)
                # No listener can take this without being replaced.
                timeouts = {"connectionIdleTimeout": "100s"}
                await it.change([world.configuration(envoy={"timeouts": timeouts})])
                await asyncio.sleep(DRAIN_SECONDS + 1)
    return lasting
