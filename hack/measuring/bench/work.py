"""The work that one change touches, counted: it must not grow with the world."""

import itertools
import statistics
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, metered
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

COUNTS = {
    "runs": "rules run",
    "checks": "recorded reads compared",
    "woken": "answers woken",
    "parts": "parts published",
    "hashed": "bytes of these hashed",
}
SMALL, TIMES = 1_000, 50
MOST = 1.25
"""Work that grows with the world grows 50-fold. Less growth is allowed: longer numbers need more
bytes."""


@measures("work-touched", "bench")
def work_touched(options: Options) -> Iterator[Figure]:
    """Every count of a change on a large world may be what it is on a small one, and no more."""
    sizes = (SMALL, 10_000) if options.quick else (SMALL, 10_000, 50_000)
    found = {it: fresh.fresh(_counted, it, options.seed) for it in sizes}
    for name in edits.BY_NAME:
        for count, words in COUNTS.items():
            small, *others = (found[it][name][count] for it in sizes)
            yield Figure(f"{name}: {words}, {SMALL:,} hosts", small, "")
            for hosts, value in zip(sizes[1:], others, strict=True):
                label = f"{name}: {words}, {hosts:,} hosts"
                yield Figure(label, value, "", small * MOST)
        for hosts in sizes:
            label = f"{name}: bytes to one Envoy at {hosts:,} hosts"
            yield Figure(label, found[hosts][name]["sent"], "")


async def _counted(hosts: int, seed: int) -> dict[str, dict[str, float]]:
    of = World.of(hosts, certificates=max(10, hosts // 10))
    made, _ = metered.built(of.documents())
    await made.connect()
    found = {}
    for name, kind in edits.BY_NAME.items():
        works = [await made.change(it) for it in itertools.islice(kind(of, Random(seed)), TIMES)]
        found[name] = {
            it: statistics.mean(float(getattr(work, it)) for work in works)
            for it in (*COUNTS, "sent")
        }
    return found
