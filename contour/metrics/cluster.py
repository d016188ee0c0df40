"""How we get on with the API server and with the other replicas."""

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
    """The collections that are followed, by kind, whichever namespaces they are of."""

    def __init__(self, state: Callable[[], Iterable[Collection]]) -> None:
        self._state = state

    def __call__(self) -> Iterator[Metric]:
        found = [(it.kind, it.state) for it in self._state()]
        yield _summed(
            GaugeMetricFamily("contour_kubernetes_objects", "Objects known.", labels=_KIND),
            ((kind, it.objects) for kind, it in found),
        )
        yield _summed(
            GaugeMetricFamily(
                "contour_kubernetes_unlisted", "Collections that were never listed.", labels=_KIND
            ),
            ((kind, not it.is_listed) for kind, it in found),
        )
        yield _summed(
            GaugeMetricFamily(
                "contour_kubernetes_degraded", "Collections that are not current.", labels=_KIND
            ),
            ((kind, bool(it.trouble)) for kind, it in found),
        )
        for name, told in (
            ("events", "Events of watches."),
            ("bytes", "Bytes of these events."),
            ("lists", "Lists begun."),
            ("watches", "Watches begun."),
            ("failures", "Lists and watches that failed."),
        ):
            family = CounterMetricFamily(f"contour_kubernetes_{name}", told, labels=_KIND)
            yield _summed(family, ((kind, getattr(it, name)) for kind, it in found))


class Statuses:
    """What became of the writes of statuses; upstream's names."""

    def __init__(self, tallies: Mapping[str, Tally], waiting: Callable[[], int]) -> None:
        self._tallies = tallies
        self._waiting = waiting

    def __call__(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "contour_status_update_waiting", "Objects that wait for it.", value=self._waiting()
        )
        tallies = [*self._tallies.items()]
        for name, told, counts in (
            ("", "Updates of statuses.", {kind: it.total for kind, it in tallies}),
            ("_success", "Statuses written.", {kind: it.success for kind, it in tallies}),
            ("_failed", "Updates that failed.", {kind: it.failed for kind, it in tallies}),
            (
                "_conflict",
                "Writes that came too late.",
                {kind: it.conflict for kind, it in tallies},
            ),
            ("_noop", "Updates with nothing new.", {kind: it.noop for kind, it in tallies}),
        ):
            family = CounterMetricFamily(f"contour_status_update{name}", told, labels=_KIND)
            yield _summed(family, counts.items())
        seconds = SummaryMetricFamily(
            "contour_status_update_duration_seconds",
            "Seconds a write takes, by whether it failed.",
            labels=("error", *_KIND),
        )
        for kind, it in tallies:
            seconds.add_metric(("false", kind), it.success, it.seconds)
            seconds.add_metric(("true", kind), it.failed, it.failed_seconds)
        yield seconds


class Events:
    """What people were told by Events, and what was too much."""

    def __init__(self, told: Callable[[], int], dropped: Callable[[], int]) -> None:
        self._told = told
        self._dropped = dropped

    def __call__(self) -> Iterator[Metric]:
        for name, what, count in (
            ("told", "Events written.", self._told()),
            ("dropped", "Events that were too many, or refused.", self._dropped()),
        ):
            yield CounterMetricFamily(f"contour_events_{name}", what, value=count)


class Replicas:
    """Who leads, and who is heard."""

    def __init__(
        self,
        is_leader: Callable[[], bool],
        is_reporting: Callable[[], bool],
        reporters: Callable[[], int],
        currency: Callable[[], tuple[bool, int]] = lambda: (True, 0),
    ) -> None:
        """`currency`: whether the leader knows no more than this replica, and how many Envoys
        were sent away because it did."""
        self._is_leader = is_leader
        self._is_reporting = is_reporting
        self._reporters = reporters
        self._currency = currency

    def __call__(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "contour_leader", "Whether this replica leads.", value=self._is_leader()
        )
        yield GaugeMetricFamily(
            "contour_replica_reporting",
            "Whether a leader hears what the Envoys of this replica say.",
            value=self._is_reporting(),
        )
        yield GaugeMetricFamily(
            "contour_replicas_heard",
            "Replicas whose Envoys this one hears of.",
            value=self._reporters(),
        )
        is_current, sent_away = self._currency()
        yield GaugeMetricFamily(
            "contour_replica_outdated",
            "Whether the leader knows more than this replica, which is not ready then.",
            value=not is_current,
        )
        yield CounterMetricFamily(
            "contour_replica_envoys_sent_away",
            "Connections of Envoys that were ended meanwhile.",
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
