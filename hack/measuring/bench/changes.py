"""What one change costs, by kind: from the decoded event to the bytes that go out next."""

import itertools
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, instance, registry, world
from hack.measuring.figures import Figure, spread
from hack.measuring.world import World

ROUTES = (30, 3_000)


@registry.BENCH.measures("changes")
def changes(options: registry.Options) -> Iterator[Figure]:
    """Every kind of change on worlds of two sizes."""
    times = options.times(1_000, 200)
    for hosts in (1_000, 10_000):
        for name, seconds in fresh.fresh(_all_kinds, hosts, times, options.seed).items():
            has_target = name == "one HTTPProxy route edited" and hosts == 10_000
            limits = (2.0, 10.0) if has_target else (None, None)
            yield from spread(f"{hosts:,} hosts: {name}", seconds, *limits)


@registry.BENCH.measures("gateway-changes")
def gateway_changes(options: registry.Options) -> Iterator[Figure]:
    """An HTTPRoute added on a Gateway that has few, or many."""
    for routes in ROUTES:
        seconds = fresh.fresh(_routes, routes, options.times(300, 100), options.seed)
        yield from spread(f"HTTPRoute added on a Gateway with {routes:,}", seconds)


def _all_kinds(hosts: int, times: int, seed: int) -> dict[str, list[float]]:
    of = World.of(hosts, certificates=100)
    made, _ = instance.built(of.documents())
    made.connect()
    return {
        name: _seconds(made, of, kind, times, Random(seed)) for name, kind in edits.BY_NAME.items()
    }


def _routes(routes: int, times: int, seed: int) -> list[float]:
    of = World.of(100)
    on_gateway = (world.http_route(it, it % of.services) for it in range(routes))
    documents = (*of.documents(), *world.gateway(), *on_gateway)
    made, _ = instance.built(documents)
    made.connect()
    return _seconds(made, of, edits.http_route_added, times, Random(seed))


def _seconds(
    made: instance.Instance, of: World, kind: edits.Edits, times: int, chance: Random
) -> list[float]:
    found = []
    for batch in itertools.islice(kind(of, chance), times):
        work = made.change(batch)
        if not work.parts:
            raise AssertionError(f"{kind.__name__} changed nothing")
        found.append(work.seconds)
    return found
