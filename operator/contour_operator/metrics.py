"""The operator's metrics for Prometheus, computed when they are scraped."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from provisioning.keeping.ownership import Owner


class Known(NamedTuple):
    """What a leader knows of the cluster; a replica that does not lead knows nothing."""

    configurations: int = 0
    objects: int = 0
    """The objects of instances, whoever made them."""
    unlisted: int = 0
    """Kinds of these objects that were not listed yet."""


@dataclass(slots=True)
class Tally:
    """Counts the reconciliations of this process, in all its terms as leader."""

    reconciles: int = 0
    failed: int = 0
    seconds: float = 0.0

    async def count(self, turn: Callable[[Owner], Awaitable[bool]], owner: Owner) -> bool:
        """Counts one reconciliation; one that raises has failed or waits, and is repeated soon."""
        start = monotonic()
        self.reconciles += 1
        try:
            return await turn(owner)
        except Exception:
            self.failed += 1
            raise
        finally:
            self.seconds += monotonic() - start


class Source:
    """Of an operator."""

    def __init__(
        self, tally: Tally, known: Callable[[], Known], is_leader: Callable[[], bool]
    ) -> None:
        self._tally = tally
        self._known = known
        self._is_leader = is_leader

    def __call__(self) -> Iterator[Metric]:
        known, tally = self._known(), self._tally
        for name, told, value in (
            ("leader", "1 if this process is the leader and acts, else 0.", self._is_leader()),
            (
                "configurations",
                "ContourConfigurations that the leader knows.",
                known.configurations,
            ),
            ("objects", "Objects of instances that the leader knows.", known.objects),
            ("unsynced_kinds", "Kinds of objects that were never listed.", known.unlisted),
        ):
            yield GaugeMetricFamily(f"contour_operator_{name}", told, value=float(value))
        for name, told, total in (
            ("reconciles", "Reconciliations of ContourConfigurations.", float(tally.reconciles)),
            (
                "reconcile_retries",
                "Reconciliations that failed or wait, and are retried.",
                float(tally.failed),
            ),
            ("reconcile_seconds", "Total duration of reconciliations in seconds.", tally.seconds),
        ):
            yield CounterMetricFamily(f"contour_operator_{name}", told, value=total)
