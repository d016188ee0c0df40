"""What a measurement yields, and how it is shown: a table for people, JSON for programs."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; its target is a limit from above, or from below if `at_least`."""

    name: str
    value: float
    unit: str
    target: float | None = None  # a figure to look at, if none
    at_least: bool = False

    @property
    def reached(self) -> bool | None:
        """None where there is no target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.name,
            "value": round(self.value, 6),
            "unit": self.unit,
            "target": self.target,
            "reached": self.reached,
        }


def spread(
    name: str, seconds: Sequence[float], median: float | None = None, p99: float | None = None
) -> list[Figure]:
    """Median and 99th percentile of durations, in milliseconds, with their targets."""
    return [
        Figure(f"{name}, median", statistics.median(seconds) * 1000, "ms", median),
        Figure(f"{name}, p99", percentile(seconds, 0.99) * 1000, "ms", p99),
    ]


def percentile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    found = sorted(values)
    return found[min(len(found) - 1, int(share * len(found)))]


def show(figures: Iterable[Figure], console: Console) -> None:
    """Prints a table."""
    table = Table("figure", "value", "unit", "target", "reached")
    for name in ("value", "target"):
        next(it for it in table.columns if it.header == name).justify = "right"
    for it in figures:
        sign = "≥" if it.at_least else "≤"
        target = "" if it.target is None else f"{sign} {it.target:g}"
        reached = {None: "", True: "[green]yes", False: "[red]NO"}[it.reached]
        name = it.name.partition(": ")[2]  # the title says whose it is
        value = f"{it.value:,.4g}" if it.value < 1e4 else f"{it.value:,.0f}"
        table.add_row(name, value, it.unit, target, reached)
    console.print(table)


def save(figures: Iterable[Figure], path: Path) -> None:
    """Writes JSON."""
    path.write_text(json.dumps([it.plain() for it in figures], indent=2) + "\n")
