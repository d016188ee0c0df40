"""What there is to measure, and what may be said about how.

A measurement is a function from `Options` to figures, registered under the name by which
`hack/bench` and `hack/chaos` call it.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from hack.measuring.figures import Figure


@dataclass(slots=True)
class Options:
    """How to measure."""

    seed: int = 1
    runs: int | None = None  # how often, instead of what the measurement does by itself
    quick: bool = False  # smaller, so that everything takes a few minutes
    outcomes: TextIO | None = None  # where each single run is noted, as a line of JSON

    def times(self, usual: int, quick: int) -> int:
        """How often to do what is usually done so often."""
        if self.runs is not None:
            return self.runs
        return quick if self.quick else usual

    def random(self, name: str) -> random.Random:
        """The measurement's own source of chance."""
        return random.Random(f"{self.seed} {name}")

    def note(self, measurement: str, **outcome: Any) -> None:
        """Keeps the outcome of a single run."""
        if self.outcomes is not None:
            found = {"measurement": measurement, "seed": self.seed} | outcome
            print(json.dumps(found), file=self.outcomes, flush=True)


Measurement = Callable[[Options], Iterable[Figure]]


@dataclass(slots=True)
class Registry:
    """Measurements by name, in the order in which they are done."""

    measurements: dict[str, Measurement] = field(default_factory=dict)

    def measures(self, name: str) -> Callable[[Measurement], Measurement]:
        """Registers a function under a name."""

        def register(measurement: Measurement) -> Measurement:
            self.measurements[name] = measurement
            return measurement

        return register

    def figures(self, names: Iterable[str], options: Options) -> Iterator[Figure]:
        """Measures; each figure bears the name of its measurement."""
        for name in names:
            for it in self.measurements[name](options):
                title = f"{name}: {it.name}"
                yield Figure(title, it.value, it.unit, it.target, it.at_least)


BENCH = Registry()
CHAOS = Registry()


def outcomes_file(folder: Path, name: str) -> Path:
    """Where the outcomes of all runs go; the folder stays out of version control by itself."""
    folder.mkdir(exist_ok=True)
    Path(folder, ".gitignore").write_text("*\n")
    return folder / f"{name}.jsonl"
