"""Objects that keep changing: the cost of that, and that memory does not grow."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, metered
from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import resident
from tests.testbed.served import Site
from tests.testbed.world import World

RATE, SERVICES = 500, 500
OTHER_PUSHES = "(lds|cds|rds|scoped_rds|srds).*update_success"


@measures("endpoint-churn")
def endpoint_churn(options: Options) -> Iterator[Figure]:
    """500 endpoint changes a second; one in a hundred is awaited at Envoy."""
    seconds = options.times(600, 15)
    lags, cores, rate, pushes = asyncio.run(_churned(seconds, options.random("endpoint-churn")))
    yield Figure("seconds", seconds, "s")
    yield Figure("changes per second", rate, "1/s", RATE * 0.98, at_least=True)
    yield Figure("pushes other than of endpoints", pushes, "", 0)
    yield Figure("event to the answer from the new endpoint, median", lags[0] * 1000, "ms")
    yield Figure("event to the answer from the new endpoint, p99", lags[1] * 1000, "ms", 300)
    yield Figure("the control plane's share of a core", cores, "", 1)


@measures("memory-growth")
def memory_growth(options: Options) -> Iterator[Figure]:
    """As many changes of all kinds as an hour brings at 50 a second, one after the other."""
    changes, hosts = (10_000, 2_000) if options.quick else (180_000, 10_000)
    early, late = fresh.fresh(_grown, hosts, changes, options.seed)
    yield Figure("hosts", hosts, "")
    yield Figure("changes", changes, "")
    yield Figure("memory after a tenth of them", early, "MiB")
    yield Figure("memory after all of them", late, "MiB", 600)
    # A thousand changes do not fill what is kept of each host: the quick run begins too early.
    yield Figure("growth", (late / early - 1) * 100, "%", None if options.quick else 3)


async def _churned(seconds: int, chance: Random) -> tuple[tuple[float, float], float, float, int]:
    lags: list[float] = []
    async with backends(2) as ports:
        of = World(SERVICES, SERVICES, backends=ports)
        async with served.running(of) as it:
            pushed = await it.envoy.total(OTHER_PUSHES)
            connection, turned = Connection(it.port), set[int]()
            first = await it.change()
            start = time.monotonic()
            for number in range(seconds * RATE):
                await asyncio.sleep(max(0.0, start + number / RATE - time.monotonic()))
                service = chance.randrange(SERVICES)
                turned ^= {service}
                lag = await _turned(it, of, service, service in turned, connection, number)
                lags.extend(lag)
            took = time.monotonic() - start
            last = await it.change()
            pushes = await it.envoy.total(OTHER_PUSHES)
    cores = (last.processor - first.processor) / took
    found = percentile(lags, 0.5), percentile(lags, 0.99)
    others = pushes - pushed
    return found, cores, seconds * RATE / took, others


async def _turned(
    it: Site[Fed], of: World, service: int, is_turned: bool, connection: Connection, number: int
) -> list[float]:
    """Moves a Service to the other backend; returns the lag, if this change is to be awaited."""
    backend = (service + is_turned) % 2
    took = await it.change([of.slice(service, [of.backends[backend]])])
    if number % 100:
        return []
    request, name = Request(world.fqdn(service)), f"b{backend}"
    seen = await probe.observed(
        connection, request, lambda answer: bool(json.loads(answer.body)["backend"] == name)
    )
    return [seen - took.came]


async def _grown(hosts: int, changes: int, seed: int) -> tuple[float, float]:
    of = World.of(hosts, certificates=100)
    made, _ = metered.built(of.documents())
    await made.connect()
    kinds = [it(of, Random(seed)) for it in edits.BY_NAME.values()]
    early = 0.0
    for number, kind in enumerate(itertools.islice(itertools.cycle(kinds), changes), 1):
        await made.change(next(kind))
        if number == changes // 10:
            early = resident()
    return early, resident()
