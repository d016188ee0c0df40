"""The states of HTTPProxies, as upstream counts them: by namespace, and by host if there are few.

Every tenant can add hosts. With up to `MOST_HOSTS` roots, each host has its own series, as
upstream's dashboards expect; with more, `vhost` is empty and the counts are those of the namespace,
so sums stay the same. Only the leader exposes them, as only it writes statuses.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from contour.status.board import Board
from crds.meta import NamespacedName
from dag import statuses, tables
from dag.engine.incremental import Engine

MOST_HOSTS = 1000

_NAMESPACE = ("namespace",)
_VHOST = ("namespace", "vhost")
_COUNTED = {
    "all": ("contour_httpproxy", "HTTPProxies by namespace.", _NAMESPACE),
    "root": ("contour_httpproxy_root", "HTTPProxies with a virtual host.", _NAMESPACE),
    "orphaned": (
        "contour_httpproxy_orphaned",
        "HTTPProxies without a virtual host that no other one includes.",
        _NAMESPACE,
    ),
    "valid": ("contour_httpproxy_valid", "Valid HTTPProxies.", _VHOST),
    "invalid": ("contour_httpproxy_invalid", "Invalid HTTPProxies.", _VHOST),
}


class HTTPProxies:
    """The metrics of HTTPProxies, from their statuses."""

    def __init__(self, engine: Engine, board: Board, is_leader: Callable[[], bool]) -> None:
        self._engine = engine
        self._board = board
        self._is_leader = is_leader

    def __call__(self) -> Iterator[Metric]:
        if not self._is_leader():
            return
        counts = self._counts()
        for what, (name, told, labels) in _COUNTED.items():
            found = GaugeMetricFamily(name, told, labels=labels)
            for values, count in counts[what].items():
                found.add_metric(values, count)
            yield found

    def _counts(self) -> dict[str, Counter[tuple[str, ...]]]:
        counts: dict[str, Counter[tuple[str, ...]]] = {what: Counter() for what in _COUNTED}
        hosts = self._hosts()
        is_few = sum(map(bool, hosts.values())) <= MOST_HOSTS
        for subject, found in self._board.told.items():
            if subject.kind != "HTTPProxy" or not isinstance(found, statuses.ContourStatus):
                continue
            host = hosts.get(subject.key, "")
            counts["all"][subject.namespace,] += 1
            counts["root"][subject.namespace,] += bool(host)
            counts["orphaned"][subject.namespace,] += found.current_status == "orphaned"
            if found.current_status != "orphaned":
                counts[found.current_status][subject.namespace, host if is_few else ""] += 1
        return counts

    def _hosts(self) -> dict[NamespacedName, str]:
        """The host of each proxy; empty if it is no root."""
        return {
            key: it.spec.virtualhost.fqdn if it.spec.virtualhost else ""
            for key, it in self._engine.rows(tables.HTTPPROXIES)
        }
