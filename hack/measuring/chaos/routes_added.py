"""Routes are added one by one: the time from the event to the first answer, and no wrong answer.

The public benchmark of the Gateway API measures the same: each route has a host of its own, which
is probed from before the event on. A probe may get 404 and then 200, and nothing else; meanwhile,
requests to the existing hosts must get 200.
"""

import asyncio
import statistics
from collections.abc import Iterator

from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Load, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site, is_ok
from tests.testbed.world import World

HOSTS, RATE = 30, 100
NAME = "routes-added"


@measures(NAME)
def routes_added(options: Options) -> Iterator[Figure]:
    """HTTPRoutes on one Gateway."""
    number = options.times(3_000, 300)
    seconds, sent, lost = asyncio.run(_run(number, options))
    tenth = max(1, number // 10)
    first, last = statistics.median(seconds[:tenth]), statistics.median(seconds[-tenth:])
    yield Figure("routes added", number, "")
    yield Figure("routes observed 404, then 200", len(seconds), "", number, at_least=True)
    yield Figure("event to first 200, mean", statistics.mean(seconds) * 1000, "ms", 10)
    yield Figure("event to first 200, p99", percentile(seconds, 0.99) * 1000, "ms", 30)
    yield Figure("median of the last tenth to that of the first", last / first, "x", 1.5)
    yield Figure("requests to the other hosts meanwhile", sent, "")
    yield Figure("of these lost", lost, "", 0)


async def _run(number: int, options: Options) -> tuple[list[float], int, int]:
    async with backends(1) as ports:
        of = World.of(HOSTS, backends=ports)
        async with served.running(of, (*of.documents(), *world.gateway())) as it:
            requests = [Request(world.fqdn(host)) for host in range(HOSTS)]
            load = Load(it.port, requests, RATE)
            async with load.running() as tally:
                seconds = [await _added(it, of, route, options) for route in range(number)]
    options.note(NAME, sent=tally.sent, failures=dict(tally.failures))
    return seconds, tally.sent, tally.lost


async def _added(it: Site[Fed], of: World, route: int, options: Options) -> float:
    document = world.http_route(route, route % of.services)
    connection = Connection(it.port)
    request = Request(document["spec"]["hostnames"][0])
    before = await connection.ask(request)
    if before.status != 404:
        raise probe.NotObserved(f"{request} got {before.status} before it was there")
    observing = probe.observed(connection, request, is_ok, frozenset({404}))
    seen, took = await asyncio.gather(observing, it.change([document]))
    connection.close()
    options.note(NAME, route=route, published=took.published - took.came, served=seen - took.came)
    return seen - took.came
