"""What Envoys are sent, accept and refuse, by fleet and type of resource."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from contour.xds import resources
from contour.xds.fleet import Fleet
from contour.xds.releases import written
from dag.fleets import Fleet as WantedFleet

TYPES = {
    resources.CLUSTER: "clusters",
    resources.ENDPOINTS: "endpoints",
    resources.SECRET: "secrets",
    resources.LISTENER: "listeners",
    resources.ROUTE: "routes",
    resources.SCOPE: "scoped_routes",
}
"""The names of types in labels; others, for which clients may ask, count as `other`."""

_COUNTED = {
    "sent": ("contour_xds_responses", "xDS responses sent to Envoys."),
    "acknowledged": ("contour_xds_acks", "xDS responses that Envoys accepted (ACK)."),
    "refused": ("contour_xds_nacks", "xDS responses that Envoys rejected (NACK)."),
    "quarantined": (
        "contour_xds_quarantines",
        "Parts of resources that were identified as the cause of a rejection.",
    ),
}

_FLEET = ("fleet",)
_TYPE = ("fleet", "type")


class Fleets:
    """The metrics of the fleets that are served."""

    def __init__(self, fleets: Mapping[str, Fleet], wanted: Mapping[str, WantedFleet]) -> None:
        """`wanted` are the fleets that there are to be, by name."""
        self._fleets = fleets
        self._wanted = wanted

    def __call__(self) -> Iterator[Metric]:
        fleets = [*self._fleets.values()]
        yield _gauge(
            "contour_xds_envoys",
            "Envoys connected to this replica; 0 only for a fleet that is to have some.",
            {it.name: len(it.envoys) for it in fleets if it.envoys or self._is_awaited(it.name)},
        )
        yield _releases(fleets)
        yield _gauge(
            "contour_xds_waiting_parts",
            "Parts of resources that are held back until an Envoy has what they refer to.",
            {it.name: sum(envoy.gates.held for envoy in it.envoys) for it in fleets},
        )
        yield from _waits(fleets)
        yield from _counts(fleets)
        yield _by_type(
            "contour_xds_quarantined_parts",
            "Parts of resources that Envoys reject at the moment.",
            ((it.name, name.type_url, 1) for it in fleets for name, _, _ in it.quarantine),
        )
        yield from _declines(fleets)
        yield _by_type(
            "contour_xds_resources",
            "xDS resources served.",
            (
                (it.name, type_url, len(found))
                for it in fleets
                for type_url, found in it.store.types.items()
            ),
        )

    def _is_awaited(self, name: str) -> bool:
        """Whether Envoys should be connected. Those of a Gateway that is gone, or has no port yet,
        should not, and gRPC clients and rate limit services need not."""
        found = self._wanted.get(name)
        return found is not None and found.is_due


def _declines(fleets: Iterable[Fleet]) -> Iterator[Metric]:
    found = [(it.name, *counts) for it in fleets for counts in it.declines.counts()]
    yield _by_type(
        "contour_xds_declined_resources",
        "xDS resources that gRPC clients reject at the moment.",
        ((fleet, type_url, count) for fleet, type_url, count, _ in found),
    )
    yield _by_type(
        "contour_xds_declining_clients",
        "Streams of gRPC clients that reject resources at the moment.",
        ((fleet, type_url, count) for fleet, type_url, _, count in found),
    )


def _releases(fleets: Iterable[Fleet]) -> Metric:
    found = GaugeMetricFamily(
        "contour_xds_envoy_releases",
        "Envoys connected to this replica, by release.",
        labels=("fleet", "release"),
    )
    for it in fleets:
        counted = Counter(written(envoy.release) or "unknown" for envoy in it.envoys)
        for release, count in counted.items():
            found.add_metric((it.name, release), count)
    return found


def _waits(fleets: Iterable[Fleet]) -> Iterator[Metric]:
    ended = CounterMetricFamily(
        "contour_xds_part_waits",
        "Completed waits of held-back parts for a resource that they refer to.",
        labels=_FLEET,
    )
    seconds = CounterMetricFamily(
        "contour_xds_part_wait_seconds",
        "Total duration of the completed waits in seconds.",
        labels=_FLEET,
    )
    vain = CounterMetricFamily(
        "contour_xds_part_wait_timeouts",
        "Waits of held-back parts that timed out; the parts were sent all the same.",
        labels=_FLEET,
    )
    for it in fleets:
        ended.add_metric((it.name,), it.waits.ended)
        seconds.add_metric((it.name,), it.waits.seconds)
        vain.add_metric((it.name,), it.waits.given_up)
    yield from (ended, seconds, vain)


def _counts(fleets: Iterable[Fleet]) -> Iterator[Metric]:
    """A type of a fleet has all counters as soon as it has one: Prometheus sees an increase from 0,
    but not a counter that begins at 1."""
    found = {
        what: CounterMetricFamily(name, told, labels=_TYPE)
        for what, (name, told) in _COUNTED.items()
    }
    for it in fleets:
        sums: Counter[tuple[str, str]] = Counter()
        for (what, type_url), count in it.counts.items():
            sums[what, TYPES.get(type_url, "other")] += count
        for type_ in dict.fromkeys(type_ for _, type_ in sums):
            for what, family in found.items():
                family.add_metric((it.name, type_), sums[what, type_])
    yield from found.values()


def _by_type(name: str, told: str, counts: Iterable[tuple[str, str, int]]) -> Metric:
    found = GaugeMetricFamily(name, told, labels=_TYPE)
    sums: Counter[tuple[str, str]] = Counter()
    for fleet, type_url, count in counts:
        sums[fleet, TYPES.get(type_url, "other")] += count
    for labels, count in sums.items():
        found.add_metric(labels, count)
    return found


def _gauge(name: str, told: str, values: Mapping[str, int]) -> Metric:
    found = GaugeMetricFamily(name, told, labels=_FLEET)
    for fleet, value in values.items():
        found.add_metric((fleet,), value)
    return found
