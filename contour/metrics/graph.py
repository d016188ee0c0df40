"""Events that come in, and the cost of settling.

Upstream rebuilds its graph; ours settles. So upstream's `dagrebuild` metrics count settlings here,
which are far more frequent and far shorter. The replica (`contour.serve`) notes the numbers.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from contour import intake
from contour.events import Event
from dag import tables
from dag.engine.incremental import Engine

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""


@dataclass(slots=True)
class Settlings:
    """How long it took to settle and publish, each time."""

    count: int = 0
    seconds: float = 0.0
    last: float = 0.0  # seconds since 1970
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    @contextmanager
    def timed(self) -> Generator[None]:
        """Notes how long the block takes."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.note(time.perf_counter() - began)

    def note(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds
        self.last = time.time()
        self.buckets[bisect_left(BOUNDS, seconds)] += 1


@dataclass(slots=True)
class Operations:
    """The events of the provider, by kind: objects that are new, changed or gone."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, events: Iterable[Event], engine: Engine) -> None:
        """Notes events, before they are written."""
        for kind, key, found in events:
            is_known = engine.row(*intake.place(kind, key)) is not None
            op = "delete" if found is None else "update" if is_known else "add"
            self.counts[kind.kind, op] += 1


class Graph:
    """The metrics of the graph."""

    def __init__(self, engine: Engine, settlings: Settlings, operations: Operations) -> None:
        self._engine = engine
        self._settlings = settlings
        self._operations = operations

    def __call__(self) -> Iterator[Metric]:
        yield from self._settled()
        yield from self._worked()
        operations = CounterMetricFamily(
            "contour_eventhandler_operation",
            "Objects that were added, updated or deleted.",
            labels=("kind", "op"),
        )
        for labels, count in self._operations.counts.items():
            operations.add_metric(labels, count)
        yield operations
        objects = GaugeMetricFamily(
            "contour_dag_cache_object", "Objects in the DAG's cache.", labels=("kind",)
        )
        for kind, table in tables.BY_KIND.items():
            objects.add_metric((kind,), self._engine.size(table))
        yield objects

    def _settled(self) -> Iterator[Metric]:
        it = self._settlings
        yield CounterMetricFamily("contour_dagrebuild", "Updates of the DAG.", value=it.count)
        yield GaugeMetricFamily(
            "contour_dagrebuild_timestamp",
            "Unix time of the last update of the DAG.",
            value=it.last,
        )
        yield SummaryMetricFamily(
            "contour_dagrebuild_seconds",
            "Duration of updates of the DAG in seconds, publishing included.",
            count_value=it.count,
            sum_value=it.seconds,
        )
        yield HistogramMetricFamily(
            "contour_graph_update_seconds",
            "Duration of updates of the DAG in seconds, publishing included.",
            buckets=_cumulative(it.buckets),
            sum_value=it.seconds,
        )

    def _worked(self) -> Iterator[Metric]:
        work = self._engine.work
        for name, told, value in (
            ("contour_graph_rules_run", "Rules of the DAG that were run.", work.runs),
            (
                "contour_graph_reads_checked",
                "Inputs of rules compared with their previous values.",
                work.checks,
            ),
            (
                "contour_graph_answers_invalidated",
                "Results of rules marked as possibly outdated.",
                work.woken,
            ),
        ):
            yield CounterMetricFamily(name, told, value=value)
        yield GaugeMetricFamily(
            "contour_graph_failing_rules",
            "Rules that raised an error (a bug) and keep their last good results.",
            value=len(self._engine.failures),
        )


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*BOUNDS, "+Inf"), buckets, strict=True):
        total += count
        found.append((str(bound), float(total)))
    return found
