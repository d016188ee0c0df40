"""The first build: from decoded objects to all xDS bytes, and the memory it leaves."""

import gc
import time
from collections.abc import Iterator

from hack.measuring import fresh, metered
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import resident
from tests.testbed.world import World, batch


@measures("first-build", "bench")
def first_build(options: Options) -> Iterator[Figure]:
    """Each size in a process of its own; the median over some runs."""
    for hosts, target in ((1_000, None), (10_000, 6.0)):
        times = options.times(3, 1)
        found = sorted((fresh.fresh(_build, hosts) for _ in range(times)), key=lambda it: it[1])
        decoding, building, size, memory, first = found[len(found) // 2]
        label = f"{hosts:,} hosts, {2 * hosts:,} HTTPProxies"
        yield Figure(f"{label}: raw to decoded objects", decoding, "s")
        yield Figure(f"{label}: decoded objects to all xDS bytes", building, "s", target)
        yield Figure(f"{label}: the first change after it", first * 1000, "ms")
        yield Figure(f"{label}: xDS bytes", size / 2**20, "MiB")
        limit = 600 if target else None
        yield Figure(f"{label}: resident memory", memory, "MiB", limit)


async def _build(hosts: int) -> tuple[float, float, float, float, float]:
    of = World.of(hosts)
    made, found = metered.built(of.documents())
    edit = batch(of.child(0, header="first"))
    start = time.perf_counter()
    made.take(edit)
    first = time.perf_counter() - start
    await made.connect()
    gc.collect()
    return found.decoding, found.building, found.size, resident(), first
