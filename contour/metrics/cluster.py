"""Metrics of the API server as this replica sees it, and of the other replicas."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from contour.kubernetes.cluster import Collection
from contour.status.tally import Tally

_KIND = ("kind",)


class Provider:
    """The followed collections, by kind, over all namespaces."""

    def __init__(self, state: Callable[[], Iterable[Collection]]) -> None:
        self._state = state

    def __call__(self) -> Iterator[Metric]:
        found = [(it.kind, it.state) for it in self._state()]
        yield _summed(
            GaugeMetricFamily(
                "contour_kubernetes_objects",
                "Objects of the API server that this replica knows.",
                labels=_KIND,
            ),
            ((kind, it.objects) for kind, it in found),
        )
        yield _summed(
            GaugeMetricFamily(
                "contour_kubernetes_unsynced_collections",
                "Collections that the API server serves and that were never listed completely.",
                labels=_KIND,
            ),
            ((kind, it.is_unsynced) for kind, it in found),
        )
        yield _summed(
            GaugeMetricFamily(
                "contour_kubernetes_degraded_collections",
                "Collections that cannot be watched at the moment, so that they may be outdated.",
                labels=_KIND,
            ),
            ((kind, bool(it.trouble)) for kind, it in found),
        )
        for name, told in (
            ("events", "Watch events received from the API server."),
            ("bytes", "Size of the received watch events in bytes."),
            ("lists", "List requests started."),
            ("watches", "Watch requests started."),
            ("failures", "List and watch requests that failed."),
        ):
            family = CounterMetricFamily(f"contour_kubernetes_{name}", told, labels=_KIND)
            yield _summed(family, ((kind, getattr(it, name)) for kind, it in found))


class Statuses:
    """The results of status writes, with the names of upstream."""

    def __init__(self, tallies: Mapping[str, Tally], waiting: Callable[[], int]) -> None:
        self._tallies = tallies
        self._waiting = waiting

    def __call__(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "contour_status_update_pending",
            "Objects whose status is still to be written.",
            value=self._waiting(),
        )
        tallies = [*self._tallies.items()]
        yield _summed(
            GaugeMetricFamily(
                "contour_status_update_given_up",
                "Objects whose status failed for good: it is not written before it changes.",
                labels=_KIND,
            ),
            ((kind, len(it.given_up)) for kind, it in tallies),
        )
        for name, told, counts in (
            ("", "Status updates attempted.", {kind: it.total for kind, it in tallies}),
            (
                "_success",
                "Status updates that were written.",
                {kind: it.success for kind, it in tallies},
            ),
            ("_failed", "Status updates that failed.", {kind: it.failed for kind, it in tallies}),
            (
                "_conflict",
                "Status updates that met a newer version of the object and were tried again.",
                {kind: it.conflict for kind, it in tallies},
            ),
            (
                "_noop",
                "Status updates that found nothing to change.",
                {kind: it.noop for kind, it in tallies},
            ),
        ):
            family = CounterMetricFamily(f"contour_status_update{name}", told, labels=_KIND)
            yield _summed(family, counts.items())
        seconds = SummaryMetricFamily(
            "contour_status_update_duration_seconds",
            "Duration of status updates in seconds, by whether they failed.",
            labels=("error", *_KIND),
        )
        for kind, it in tallies:
            seconds.add_metric(("false", kind), it.success, it.seconds)
            seconds.add_metric(("true", kind), it.failed, it.failed_seconds)
        yield seconds


class Events:
    """Kubernetes Events that were written and dropped."""

    def __init__(self, told: Callable[[], int], dropped: Callable[[], int]) -> None:
        self._told = told
        self._dropped = dropped

    def __call__(self) -> Iterator[Metric]:
        for name, what, count in (
            ("written", "Kubernetes Events written.", self._told()),
            (
                "dropped",
                "Kubernetes Events dropped by rate limits or refused by the API server.",
                self._dropped(),
            ),
        ):
            yield CounterMetricFamily(f"contour_events_{name}", what, value=count)


class Replicas:
    """Leader election and the reports between replicas."""

    def __init__(
        self,
        is_leader: Callable[[], bool],
        is_reporting: Callable[[], bool],
        reporters: Callable[[], int],
        freshness: Callable[[], tuple[bool, int]] = lambda: (True, 0),
    ) -> None:
        """`freshness`: whether this replica is as current as the leader, and how many Envoys it has
        disconnected when it was not."""
        self._is_leader = is_leader
        self._is_reporting = is_reporting
        self._reporters = reporters
        self._freshness = freshness

    def __call__(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "contour_leader", "1 if this replica is the leader, else 0.", value=self._is_leader()
        )
        yield GaugeMetricFamily(
            "contour_replica_reporting",
            "1 if this replica reports the state of its Envoys to the leader, else 0.",
            value=self._is_reporting(),
        )
        yield GaugeMetricFamily(
            "contour_reporting_replicas",
            "Replicas that report the state of their Envoys to this one.",
            value=self._reporters(),
        )
        is_current, sent_away = self._freshness()
        yield GaugeMetricFamily(
            "contour_replica_outdated",
            "1 if the leader has newer objects, so that this replica is not ready, else 0.",
            value=not is_current,
        )
        yield CounterMetricFamily(
            "contour_replica_shed_connections",
            "Connections of Envoys that were closed because this replica was outdated.",
            value=sent_away,
        )


def _summed(
    family: CounterMetricFamily | GaugeMetricFamily, counts: Iterable[tuple[str, float]]
) -> Metric:
    sums: defaultdict[str, float] = defaultdict(float)
    for kind, count in counts:
        sums[kind] += count
    for kind, count in sums.items():
        family.add_metric((kind,), count)
    return family
