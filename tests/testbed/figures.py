"""The results of a measurement, and how they are shown: a table for people, JSON for programs."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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

    @property
    def limit(self) -> str:
        """The target with its direction."""
        return "≥" if self.at_least else "≤"

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.name,
            "value": round(self.value, 6),
            "unit": self.unit,
            "target": self.target,
            "limit": self.limit,
            "reached": self.reached,
        }

    def row(self) -> tuple[str, ...]:
        """As a row of the table."""
        target = "" if self.target is None else f"{self.limit} {self.target:g}"
        reached = {None: "", True: "[green]yes", False: "[red]NO"}[self.reached]
        value = f"{self.value:,.4g}" if self.value < 1e4 else f"{self.value:,.0f}"
        return self.name, value, self.unit, target, reached


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


def table(title: str, rows: Iterable[Sequence[str]]) -> str:
    """The table of a measurement, as text for a terminal."""
    console = Console(width=110)
    found = Table("figure", "value", "unit", "target", "reached")
    found.columns[1].justify = found.columns[3].justify = "right"
    for it in rows:
        found.add_row(*it)
    with console.capture() as captured:
        console.print(f"\n[bold]{title}[/bold]")
        console.print(found)
    return captured.get()
