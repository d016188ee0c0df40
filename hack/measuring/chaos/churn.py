"""Things that keep changing: what that costs, and that memory does not grow."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, instance, registry, rig, world
from hack.measuring.figures import Figure, percentile
from hack.measuring.world import World
from tests.testbed import probe
from tests.testbed.load import Connection, Request

RATE, SERVICES = 500, 500
OTHER_PUSHES = "(lds|cds|rds|scoped_rds|srds).*update_success"


@registry.CHAOS.measures("endpoint-churn")
def endpoint_churn(options: registry.Options) -> Iterator[Figure]:
    """500 endpoint changes a second; one in a hundred is awaited at Envoy."""
    seconds = options.times(600, 15)
    lags, cores, rate, pushes = asyncio.run(_churned(seconds, options.random("endpoint-churn")))
    yield Figure("seconds", seconds, "s")
    yield Figure("changes per second", rate, "1/s", RATE * 0.98, at_least=True)
    yield Figure("pushes other than of endpoints", pushes, "", 0)
    yield Figure("event to the answer from the new endpoint, median", lags[0] * 1000, "ms")
    yield Figure("event to the answer from the new endpoint, p99", lags[1] * 1000, "ms", 300)
    yield Figure("the control plane's share of a core", cores, "", 1)


@registry.CHAOS.measures("memory-growth")
def memory_growth(options: registry.Options) -> Iterator[Figure]:
    """As many changes of all kinds as an hour brings at 50 a second, one after the other."""
    changes, hosts = options.times(180_000, 10_000), 2_000 if options.quick else 10_000
    early, late = fresh.fresh(_grown, hosts, changes, options.seed)
    yield Figure("hosts", hosts, "")
    yield Figure("changes", changes, "")
    yield Figure("memory after a tenth of them", early, "MiB")
    yield Figure("memory after all of them", late, "MiB", 600)
    yield Figure("growth", (late / early - 1) * 100, "%", 3)


async def _churned(seconds: int, chance: Random) -> tuple[tuple[float, float], float, float, int]:
    lags: list[float] = []
    async with rig.backends(2) as ports:
        of = World(SERVICES, SERVICES, backends=ports)
        async with rig.running(of.documents()) as it:
            pushed = await it.envoy.counts(OTHER_PUSHES)
            connection, turned = Connection(it.port), set[int]()
            first = await it.control.change()
            start = time.monotonic()
            for number in range(seconds * RATE):
                await asyncio.sleep(max(0.0, start + number / RATE - time.monotonic()))
                service = chance.randrange(SERVICES)
                turned ^= {service}
                lag = await _turned(it, of, service, service in turned, connection, number)
                lags.extend(lag)
            took = time.monotonic() - start
            last = await it.control.change()
            pushes = await it.envoy.counts(OTHER_PUSHES)
    cores = (last.processor - first.processor) / took
    found = percentile(lags, 0.5), percentile(lags, 0.99)
    others = sum(pushes.values()) - sum(pushed.values())
    return found, cores, seconds * RATE / took, others


async def _turned(
    it: rig.Rig, of: World, service: int, is_turned: bool, connection: Connection, number: int
) -> list[float]:
    """Moves a Service to the other backend; the lag, if this is one to be awaited."""
    backend = (service + is_turned) % 2
    took = await it.control.change([of.slice(service, [of.backends[backend]])])
    if number % 100:
        return []
    request, name = Request(world.fqdn(service)), f"b{backend}"
    seen = await probe.observed(
        connection, request, lambda answer: bool(json.loads(answer.body)["backend"] == name)
    )
    return [seen - took.came]


def _grown(hosts: int, changes: int, seed: int) -> tuple[float, float]:
    of = World.of(hosts, certificates=100)
    made, _ = instance.built(of.documents())
    made.connect()
    kinds = [it(of, Random(seed)) for it in edits.BY_NAME.values()]
    early = 0.0
    for number, kind in enumerate(itertools.islice(itertools.cycle(kinds), changes), 1):
        made.change(next(kind))
        if number == changes // 10:
            early = instance.resident()
    return early, instance.resident()
