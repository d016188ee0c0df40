"""When a cluster is ready on one Envoy.

A cluster is ready when it has been sent and its endpoints (and secrets) have been acknowledged. The
acknowledgement of the cluster itself also proves that it is ready, but nothing waits for it: Envoy
withholds it while *any* cluster warms, so one DNS name without an answer would block all of them. A
cluster with health checks is the exception: it warms until the first checks are done, so its own
acknowledgement is the only proof, for which only its own routes wait.
"""

from collections.abc import Collection, Iterable, Iterator

from contour.xds import state
from contour.xds.gates import Gates
from contour.xds.resources import CLUSTER, ENDPOINTS, SECRET, Name, Part
from contour.xds.state import InFlightResponse
from contour.xds.store import Store
from contour.xds.subscription import Subscription

_USED = (ENDPOINTS, SECRET)


class Warming:
    """Opens and closes the gates of one Envoy's clusters."""

    def __init__(
        self, store: Store, gates: Gates, subscriptions: dict[str, list[Subscription]]
    ) -> None:
        self._store = store
        self._gates = gates
        self._subscriptions = subscriptions

    def sent(self, to: Subscription, response: InFlightResponse, now: float) -> None:
        """Notes that a response was sent, which may contain clusters."""
        if to.type_url != CLUSTER:
            return
        if any(self._subscriptions.get(ENDPOINTS, ())):
            for _, part in self._store.clusters.parts(response.before):
                self._resend_endpoints(part)
        self.start(response.before, now)

    def start(self, clusters: Collection[str], now: float) -> None:
        """Notes that clusters were sent, or that Envoy already has them."""
        found = self._store.clusters.split(clusters)
        self._gates.start(found.warming, now)
        self._gates.open_all(found.others, now)

    def known(self, clusters: Collection[str], now: float) -> None:
        """Notes that Envoy had these clusters when its stream began: routes wait for what they
        need, as if they had just been sent."""
        found = self._store.clusters.split(clusters)
        self._gates.begin(found.warming, now)
        self._gates.open_all(found.others, now)

    def regained(self, name: Name, by: Subscription, now: float) -> None:
        """Notes that a resource that was about to be removed stays; what it needs may have become
        ready in the meantime."""
        if name.type_url == CLUSTER and any(self._warm((name,))):
            self._gates.open(name, now)
        else:
            self.has(by, by.acknowledged((name.name,)), now)

    def acknowledged(self, clusters: Iterable[str], now: float) -> None:
        """Notes the acknowledgement of clusters; it counts unless endpoints or secrets have to be
        acknowledged first."""
        if not self._gates.closed:
            return
        ready: list[Name] = []
        needy: list[Name] = []
        for name, part in self._store.clusters.parts(clusters):
            (needy if part.needs and not part.health_checked else ready).append(name)
        if any(self._subscriptions.get(it) for it in _USED):
            ready += self._warm(needy)
        self._gates.open_all(ready, now)

    def cools(self, need: Name, now: float) -> None:
        """Makes routes wait for the clusters that need a new resource, which Envoy has yet to
        get."""
        for user, _ in self._store.users.of(need):
            if user.type_url == CLUSTER and user not in self._gates.closed:
                self._gates.close((user,))
                self._gates.start((user,), now)

    def has(self, by: Subscription, names: Collection[str], now: float) -> None:
        """Notes that Envoy has the newest state of resources that clusters may need."""
        closed = self._gates.closed
        if not closed:
            return
        alone, others = self._store.clusters.users(by.type_url, names)
        if any(it.dirty for it in self._subscriptions[CLUSTER]):
            alone, others = (), (*alone, *others)
        waiting = [it for it in others if it in closed]
        self._gates.open_all([*alone, *self._warm(waiting)], now)

    def _resend_endpoints(self, cluster: Part) -> None:
        """Sends the endpoints of a changed cluster again: Envoy warms the cluster again but does
        not request them."""
        for need in cluster.needs:
            if need.type_url != ENDPOINTS:
                continue
            for it in self._subscriptions.get(ENDPOINTS, ()):
                if it.wants(need.name) and it.served(need.name) is not None:
                    it.mark(need.name, state.same())

    def _warm(self, clusters: Iterable[Name]) -> Iterator[Name]:
        """The clusters among these that Envoy has, together with everything that they need."""
        published = self._store.types[CLUSTER]
        unsent = [it.dirty for it in self._subscriptions[CLUSTER] if it.dirty]
        for cluster in clusters:
            resource = published.get(cluster.name)
            part = resource.parts.get("") if resource else None
            if part is None or part.health_checked or not part.needs:
                continue
            if any(cluster.name in it for it in unsent) or not self._are_settled(part.needs):
                continue
            yield cluster

    def _are_settled(self, needs: Iterable[Name]) -> bool:
        for need in needs:
            for it in self._subscriptions.get(need.type_url, ()):
                if it.wants(need.name) and it.is_acknowledged(need.name):
                    break
            else:
                return False
        return True
