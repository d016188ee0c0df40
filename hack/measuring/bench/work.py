"""The work that one change touches, counted: it must not grow with the world."""

import itertools
import statistics
from collections.abc import Iterator
from random import Random

from hack.measuring import edits, fresh, instance, registry
from hack.measuring.figures import Figure
from hack.measuring.world import World

COUNTS = ("runs", "checks", "woken", "parts", "hashed")
SMALL, TIMES = 1_000, 50
LARGEST_RATIO = 1.25
"""What grows with the world grows 50-fold; numbers get a digit longer, and some more bytes."""


@registry.BENCH.measures("work-touched")
def work_touched(options: registry.Options) -> Iterator[Figure]:
    """Rules run, reads compared, answers woken, parts published and bytes hashed per change."""
    large = 10_000 if options.quick else 50_000
    sizes = dict.fromkeys((SMALL, 10_000, large))
    counts = {it: fresh.fresh(_counted, it, options.seed) for it in sizes}
    for name in edits.BY_NAME:
        for count in COUNTS:
            for hosts in sizes:
                label = f"{name}: {count} at {hosts:,} hosts"
                yield Figure(label, counts[hosts][name][count], _unit(count))
            ratio = _ratio(counts[large][name][count], counts[SMALL][name][count])
            label = f"{name}: {count}, {large:,} hosts to {SMALL:,}"
            yield Figure(label, ratio, "x", LARGEST_RATIO)


def _counted(hosts: int, seed: int) -> dict[str, dict[str, float]]:
    of = World.of(hosts, certificates=100)
    made, _ = instance.built(of.documents())
    made.connect()
    found = {}
    for name, kind in edits.BY_NAME.items():
        works = [made.change(it) for it in itertools.islice(kind(of, Random(seed)), TIMES)]
        found[name] = {
            it: statistics.mean(float(getattr(work, it)) for work in works) for it in COUNTS
        }
    return found


def _ratio(large: float, small: float) -> float:
    return large / small if small else float(large > 0) + 1


def _unit(count: str) -> str:
    return "bytes" if count == "hashed" else "per change"
