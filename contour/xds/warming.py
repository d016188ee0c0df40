"""When a cluster is ready on one Envoy.

A cluster is ready once it was sent and its endpoints (and secrets) were acknowledged. The
acknowledgement of the cluster itself also proves that it is ready, but nothing waits for it: Envoy
withholds it while *any* cluster warms, so one DNS name without an answer would block all of them. A
cluster with health checks is the exception: it warms until the first checks are done, so its own
acknowledgement is the only proof, and only its own routes wait for that.
"""

from contour.xds import state
from contour.xds.gates import Gates
from contour.xds.resources import CLUSTER, ENDPOINTS, Name, Part
from contour.xds.state import InFlightResponse
from contour.xds.store import Store
from contour.xds.subscription import Subscription


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
        for name in response.before if to.type_url == CLUSTER else ():
            part = self._part(Name(CLUSTER, name))
            if part is not None:
                self._resend_endpoints(part)
                self.start(Name(CLUSTER, name), part, now)

    def start(self, cluster: Name, part: Part, now: float) -> None:
        """Notes that a cluster was sent, or that Envoy has it already."""
        if part.warms:
            self._gates.start(cluster, now)
        else:
            self._gates.open(cluster, now)

    def regained(self, name: Name, by: Subscription, now: float) -> None:
        """Notes that a resource stays which was about to be removed; what it needs may have become
        ready in the meantime."""
        if name.type_url == CLUSTER and self._is_warm(name):
            self._gates.open(name, now)
        else:
            self.has(by, name.name, now)

    def acknowledged(self, cluster: Name, now: float) -> None:
        """Notes the acknowledgement of a cluster; it counts unless endpoints or secrets have to be
        acknowledged first."""
        part = self._part(cluster)
        if part is None:
            return
        if part.health_checked or not part.needs or self._is_warm(cluster):
            self._gates.open(cluster, now)

    def cools(self, need: Name, now: float) -> None:
        """Makes routes wait for the clusters that need a new resource: Envoy has yet to get it."""
        for user, _ in self._store.users.get(need, ()):
            if user.type_url == CLUSTER and user not in self._gates.closed:
                self._gates.close(user)
                self._gates.start(user, now)

    def has(self, by: Subscription, name: str, now: float) -> None:
        """Notes that Envoy has the newest of a resource that clusters may need."""
        for user, _ in list(self._store.users.get(Name(by.type_url, name), ())):
            if user in self._gates.closed and self._is_warm(user):
                self._gates.open(user, now)

    def _resend_endpoints(self, cluster: Part) -> None:
        """Sends the endpoints of a changed cluster again: Envoy warms it anew but does not ask."""
        for need in cluster.needs:
            if need.type_url != ENDPOINTS:
                continue
            for it in self._subscriptions.get(ENDPOINTS, ()):
                if it.wants(need.name) and it.served(need.name) is not None:
                    it.mark(need.name, state.same())

    def _is_warm(self, cluster: Name) -> bool:
        part = self._part(cluster)
        if part is None or part.health_checked or not part.needs:
            return False
        was_sent = all(cluster.name not in it.dirty for it in self._subscriptions[CLUSTER])
        return was_sent and all(self._is_settled(need) for need in part.needs)

    def _is_settled(self, need: Name) -> bool:
        return any(
            it.wants(need.name) and it.is_acknowledged(need.name)
            for it in self._subscriptions.get(need.type_url, ())
        )

    def _part(self, cluster: Name) -> Part | None:
        resource = self._store.resource(cluster)
        return resource.parts.get("") if resource else None
