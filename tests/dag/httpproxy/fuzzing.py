"""As many random objects as asked for, each a change of the world before it: for `hack/fuzz`.

Decoded, settled by the graph and translated for Envoy. A rule that raises, or that takes longer
than it may, is told with the seed of its object. With `--sitting` the count goes on where the last
sitting ended, and is kept in the repository's figures.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import process_time

from contour.envoy import outputs
from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from tests.dag.httpproxy import generated, surroundings
from tests.testbed import published
from tests.testbed.figures import Figure
from tests.testbed.processes import ROOT

FIGURES = ROOT / "hack" / "measured"
NAME = "fuzz"
WANTED = 5_000_000
"""Objects, in all sittings."""
KEPT = 5_000
"""After so many objects the count is written down, so that a sitting may end at any time."""
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
    parser.add_argument(
        "--sitting", action="store_true",
        help="go on where the last sitting ended, and keep the count in the figures",
    )  # fmt: skip
    arguments = parser.parse_args()
    if arguments.sitting:
        published.check_committed(ROOT, FIGURES)
        found = sitting(FIGURES, arguments.count)
    else:
        found = sum(_counted(arguments.seed, arguments.count), Counter[str]())
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items())))
    raise SystemExit(1 if found["failed"] or found["slow"] else 0)


def sitting(folder: Path, count: int) -> Counter[str]:
    """Tries so many further objects; the outcomes of all sittings, which the figures keep."""
    path = folder / f"{NAME}.json"
    found = Counter(json.loads(path.read_text())["outcomes"] if path.exists() else {})
    begun = published.Begun.now()
    for more in _counted(found.total(), count):
        found += more
        record = {
            "about": "Random HTTPProxies through every rule and the translation, in all sittings.",
            "command": "hack/fuzz --sitting",
            "commit": published.commit(),
            "figures": [it.plain() for it in _figures(found)],
            "outcomes": dict(found),
        }
        published.write(folder, NAME, record | begun.ended())
    return found


def _figures(found: Counter[str]) -> Iterator[Figure]:
    yield Figure("objects tried", found.total(), "", WANTED, at_least=True)
    yield Figure("rules that raised", found["failed"], "", 0)
    yield Figure(f"changes of more than {LONGEST:g} s", found["slow"], "", 0)
    yield Figure("objects that decoding refused", found["refused"], "")


def _counted(seed: int, count: int) -> Iterator[Counter[str]]:
    """The outcomes of so many objects from a seed on, some at a time."""
    engine = surroundings.engine(outputs.PLAN)
    for start in range(seed, seed + count, KEPT):
        end = min(start + KEPT, seed + count)
        yield Counter(_tried(engine, it) for it in range(start, end))


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
