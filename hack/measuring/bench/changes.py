"""The cost of one change, by kind: from the decoded event to the next bytes for Envoy."""

import itertools
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, metered
from tests.testbed import world
from tests.testbed.figures import Figure, spread
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

ROUTES = (30, 3_000)


@measures("changes", "bench")
def changes(options: Options) -> Iterator[Figure]:
    """Every kind of change on worlds of two sizes."""
    times = options.times(1_000, 200)
    for hosts in (1_000, 10_000):
        for name, seconds in fresh.fresh(_all_kinds, hosts, times, options.seed).items():
            has_target = name == "one HTTPProxy route edited" and hosts == 10_000
            limits = (2.0, 10.0) if has_target else (None, None)
            yield from spread(f"{hosts:,} hosts: {name}", seconds, *limits)


@measures("gateway-changes", "bench")
def gateway_changes(options: Options) -> Iterator[Figure]:
    """An HTTPRoute added on a Gateway that has few, or many."""
    for routes in ROUTES:
        seconds = fresh.fresh(_routes, routes, options.times(300, 100), options.seed)
        yield from spread(f"HTTPRoute added on a Gateway with {routes:,}", seconds)


async def _all_kinds(hosts: int, times: int, seed: int) -> dict[str, list[float]]:
    of = World.of(hosts, certificates=100)
    made, _ = metered.built(of.documents())
    await made.connect()
    return {
        name: await _seconds(made, of, kind, times, Random(seed))
        for name, kind in edits.BY_NAME.items()
    }


async def _routes(routes: int, times: int, seed: int) -> list[float]:
    of = World.of(100)
    on_gateway = (world.http_route(it, it % of.services) for it in range(routes))
    documents = (*of.documents(), *world.gateway(), *on_gateway)
    made, _ = metered.built(documents)
    await made.connect()
    return await _seconds(made, of, edits.http_route_added, times, Random(seed))


async def _seconds(
    made: metered.Metered, of: World, kind: edits.Edits, times: int, chance: Random
) -> list[float]:
    found = []
    for batch in itertools.islice(kind(of, chance), times):
        work = await made.change(batch)
        if not work.parts:
            raise AssertionError(f"{kind.__name__} changed nothing")
        found.append(work.seconds)
    return found
