"""A pytest plugin for measurements: benchmarks, and faults with their runs.

A measurement is a function from `Options` to figures; `measures` makes a test item of it, which
fails if a figure misses its target. A measurement runs only if it is selected by its marker (`-m
fault`, `-m bench`) or by its name (`--row NAME`). Each is shown as a table; every single run is a
line of `.measured/MARKER.jsonl`. With `--publish FOLDER` each is also written to a file there, for
the page of figures (`published`).
"""

import inspect
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.testbed import figures, published
from tests.testbed.figures import Figure

FILES = {"bench": "bench.jsonl", "fault": "chaos.jsonl"}
"""The files of the outcomes of single runs, by marker."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure."""

    seed: int = 1
    runs: int | None = None  # how often, instead of what the measurement does by itself
    quick: bool = False  # smaller, so that everything takes a few minutes
    outcomes: Path | None = None  # where each single run is noted, as a line of JSON

    def times(self, usual: int, quick: int) -> int:
        """How many times to do something, given its usual number of times."""
        if self.runs is not None:
            return self.runs
        return quick if self.quick else usual

    def random(self, name: str) -> random.Random:
        """The measurement's own random numbers."""
        return random.Random(f"{self.seed} {name}")

    def note(self, measurement: str, **outcome: Any) -> None:
        """Keeps the outcome of a single run."""
        if self.outcomes is not None:
            found = {"measurement": measurement, "seed": self.seed} | outcome
            with self.outcomes.open("a") as file:
                print(json.dumps(found), file=file)


Measurement = Callable[[Options], Iterable[Figure]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement, its name and its marker."""

    name: str
    marker: str
    measure: Measurement


def measures(name: str, marker: str = "fault") -> Callable[[Measurement], Measurement]:
    """Registers a measurement under a name."""

    def known(measure: Measurement) -> Measurement:
        mark(measure, Measured(name, marker, measure))
        return measure

    return known


def mark(function: Any, measured: Measured) -> None:
    """Registers the function."""
    function.measured = measured


class MissedError(Exception):
    """Some figures miss their targets."""


class Row(pytest.Item):
    """A measurement as a test."""

    def __init__(self, measured: Measured, **of: Any) -> None:
        super().__init__(measured.name, **of)
        self._measured = measured
        # It has limits of its own; what a broken peer leaves behind is no concern of the harness.
        timeless, lenient = pytest.mark.timeout(0), pytest.mark.filterwarnings("default")
        for it in (measured.marker, timeless, lenient):
            self.add_marker(it)

    def runtest(self) -> None:
        """Measures, and keeps the figures for the table."""
        found: list[Figure] = []
        raised = False
        begun = published.Begun.now()
        try:
            found += self._measured.measure(self._options())
        except BaseException:
            raised, found = True, [Figure("measurements that failed", 1, "", 0)]
            raise
        finally:
            rows = [(it.row(), it.plain()) for it in found]
            title = f"{self.name}  (seed {self.config.getoption('seed')})"
            about = {"about": inspect.getdoc(self._measured.measure), **begun.ended()}
            told = {"title": title, "rows": rows, "circumstances": about, "raised": raised}
            self.user_properties.append(("figures", told))
        if missed := [it.name for it in found if it.reached is False]:
            raise MissedError("; ".join(missed))

    def _options(self) -> Options:
        folder = self.config.rootpath / ".measured"
        folder.mkdir(exist_ok=True)
        Path(folder, ".gitignore").write_text("*\n")  # out of version control by itself
        seed, runs, quick = map(self.config.getoption, ("seed", "runs", "quick"))
        return Options(seed, runs, quick, folder / FILES[self._measured.marker])

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Only the missed targets: the table has already shown the figures."""
        if excinfo.errisinstance(MissedError):
            return f"missed: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Its location and its name."""
        return self.path, None, self.name


class Tables:
    """Shows each table as soon as it is there, and writes all figures as JSON in the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._figures = config, list[dict[str, object]]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """An item has run, in this process or in another one."""
        found = dict(report.user_properties).get("figures")
        if report.when != "call" or not isinstance(found, dict):
            return
        name = found["title"].split()[0]
        self._figures += [it | {"name": f"{name}: {it['name']}"} for _, it in found["rows"]]
        folder: Path | None = self._config.getoption("publish")
        if folder is not None and not found["raised"]:  # earlier figures are better than none
            command = published.command(name, report.keywords, self._config.option)
            plain = [it for _, it in found["rows"]]
            published.write(folder, name, found["circumstances"] | command | {"figures": plain})
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write(figures.table(found["title"], (row for row, _ in found["rows"])))

    def pytest_sessionfinish(self) -> None:
        """Everything has run."""
        path: Path | None = self._config.getoption("figures")
        if path is not None:
            path.write_text(json.dumps(self._figures, indent=2) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How to measure what."""
    group = parser.getgroup("measuring", "faults and benchmarks")
    add = group.addoption
    add("--row", action="append", default=[], metavar="NAME", help="Measure only this.")
    add("--runs", type=int, help="How often, instead of the usual number.")
    add("--seed", type=int, default=1, help="Of everything that is left to chance.")
    add("--quick", action="store_true", help="Smaller and fewer.")
    add("--figures", type=Path, metavar="FILE", help="Also write all figures as JSON.")
    add("--publish", type=Path, metavar="FOLDER", help="Also write a file of each measurement.")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers, and the plugin that shows the tables."""
    config.addinivalue_line("markers", "fault: something goes wrong under load, again and again")
    config.addinivalue_line("markers", "bench: what something costs")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tables(config))


def pytest_pycollect_makeitem(collector: Any, obj: object) -> list[Row] | None:
    """A measurement."""
    found = getattr(obj, "measured", None)
    if not isinstance(found, Measured):
        return None
    made: Row = Row.from_parent(collector, measured=found)
    return [made]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects measurements that are not asked for."""
    names: list[str] = config.getoption("row")
    if names:
        known = {it.name: it for it in items if isinstance(it, Row)}
        if unknown := set(names) - known.keys():
            told = ", ".join(sorted(unknown))
            raise pytest.UsageError(f"no {told} here; there is {', '.join(known)}")
        wanted: list[pytest.Item] = [known[it] for it in names]
    elif any(it in config.getoption("markexpr") for it in FILES):
        wanted = items
    else:
        wanted = [it for it in items if not isinstance(it, Row)]
    kept = set(wanted)
    config.hook.pytest_deselected(items=[it for it in items if it not in kept])
    items[:] = wanted
