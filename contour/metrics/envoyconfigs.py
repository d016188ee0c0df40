"""The states of EnvoyConfigs, and how often their served revision has changed, by namespace.

The namespaces are those of the configuration, so their number is bounded. Only the leader exposes
the number in each state, as only it writes statuses; each replica counts what it has published to
its own Envoys.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from contour.rawconfig.counts import Counts
from contour.xds.fleet import Fleet
from contour.xds.identities import NodeIdentity
from dag.engine.incremental import Engine
from dag.rawconfig import revisions
from dag.rawconfig.content import READINGS

_NAMESPACE = ("namespace",)
NOT_SERVED = "NotServed"
"""The state of an EnvoyConfig that is not served: it is invalid, or its node ID is taken."""


class EnvoyConfigs:
    """Their metrics."""

    def __init__(
        self,
        engine: Engine,
        counts: Counts,
        fleets: Mapping[NodeIdentity, Fleet],
        is_leader: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._counts = counts
        self._fleets = fleets
        self._is_leader = is_leader

    def __call__(self) -> Iterator[Metric]:
        connected = Counter[str]()
        for identity, fleet in [*self._fleets.items()]:
            connected[identity.namespace] += len(fleet.envoys)
        yield _gauge(
            "contour_envoyconfig_envoys",
            "Envoys with a node ID of an EnvoyConfig that are connected to this replica.",
            connected,
        )
        for name, told, counted in (
            ("published", "Revisions of EnvoyConfigs published.", self._counts.published),
            ("taints", "Revisions of EnvoyConfigs that Envoys refused.", self._counts.taints),
            (
                "rollbacks",
                "Publications of an older revision in place of a refused one.",
                self._counts.rollbacks,
            ),
        ):
            found = CounterMetricFamily(f"contour_envoyconfig_{name}", told, labels=_NAMESPACE)
            for namespace, count in counted.items():
                found.add_metric((namespace,), count)
            yield found
        if self._is_leader():
            yield from self._states()

    def _states(self) -> Iterator[Metric]:
        states, every, tainted = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
        for key, _ in self._engine.rows(READINGS):
            choice = self._engine.answer(revisions.choice, key)
            states[key.namespace, (choice and choice.state) or NOT_SERVED] += 1
            for it in choice.revisions if choice is not None else ():
                every[key.namespace] += 1
                tainted[key.namespace] += bool(it.taint)
        found = GaugeMetricFamily(
            "contour_envoyconfig", "EnvoyConfigs by state.", labels=("namespace", "state")
        )
        for labels, count in states.items():
            found.add_metric(labels, count)
        yield found
        yield _gauge("contour_envoyconfig_revisions", "Revisions of EnvoyConfigs.", every)
        yield _gauge(
            "contour_envoyconfig_tainted_revisions",
            "Revisions of EnvoyConfigs that Envoys refuse.",
            tainted,
        )


def _gauge(name: str, told: str, values: Mapping[str, int]) -> Metric:
    found = GaugeMetricFamily(name, told, labels=_NAMESPACE)
    for namespace, value in values.items():
        found.add_metric((namespace,), value)
    return found
