"""As many random objects as asked for, each a change of the world before it: for `hack/fuzz`.

Decoded, settled by the graph and translated for Envoy. A rule that raises, or that takes longer
than it may, is told with the seed of its object.
"""

import argparse
from collections import Counter
from random import Random
from time import process_time

from contour.envoy import outputs
from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from tests.dag.httpproxy import generated, surroundings

LONGEST = 2.0
"""Seconds of the processor for one change."""


def main() -> None:
    """Tells what was found; the exit code is 1 if anything was."""
    parser = argparse.ArgumentParser(prog="hack/fuzz", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=10_000, help="number of objects; default: %(default)s"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first object; default: %(default)s"
    )
    arguments = parser.parse_args()
    engine = surroundings.engine(outputs.PLAN)
    found: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        found[_tried(engine, seed)] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items())))
    raise SystemExit(1 if found["failed"] or found["slow"] else 0)


def _tried(engine: Engine, seed: int) -> str:
    document = generated.document(Random(seed))
    start = process_time()
    found = decode(document)
    if not isinstance(found, Decoded) or found.object is None:
        return "refused"
    engine.write(tables.BY_KIND[found.kind.kind], found.key, found.object)
    engine.settle()
    for query, key, error in engine.failures[:1]:
        print(f"seed {seed}: {query} {key}: {error!r}", flush=True)
        engine.write(tables.BY_KIND[found.kind.kind], found.key, None)
        engine.settle()
        return "failed"
    if process_time() - start > LONGEST:
        print(f"seed {seed}: {process_time() - start:.1f} s", flush=True)
        return "slow"
    return "taken"


if __name__ == "__main__":
    main()
