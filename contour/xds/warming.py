"""When a cluster is ready on one Envoy.

It is ready once it was sent and its endpoints (and secrets) were acknowledged. The
acknowledgement of the cluster itself proves as much but is never waited for: Envoy withholds it
while *any* cluster warms, so one silent DNS name would freeze everybody. Only for a cluster with
health checks, which warms beyond its endpoints, is there no better proof; it holds back its own
routes alone.
"""

from contour.xds import state
from contour.xds.gates import Gates
from contour.xds.resources import CLUSTER, ENDPOINTS, Name, Part
from contour.xds.state import InFlightResponse
from contour.xds.store import Store
from contour.xds.subscription import Subscription


class Warming:
    """The clusters of one Envoy on their way to being used."""

    def __init__(
        self, store: Store, gates: Gates, subscriptions: dict[str, list[Subscription]]
    ) -> None:
        self._store = store
        self._gates = gates
        self._subscriptions = subscriptions

    def sent(self, to: Subscription, response: InFlightResponse, now: float) -> None:
        """A response is on its way; perhaps it brings clusters."""
        for name in response.before if to.type_url == CLUSTER else ():
            part = self._part(Name(CLUSTER, name))
            if part is not None:
                self._resend_endpoints(part)
                self.start(Name(CLUSTER, name), part, now)

    def start(self, cluster: Name, part: Part, now: float) -> None:
        """A cluster was sent, or is there already."""
        if part.warms:
            self._gates.start(cluster, now)
        else:
            self._gates.open(cluster, now)

    def regained(self, name: Name, by: Subscription, now: float) -> None:
        """What was about to leave stays: what it lacked may have come in the meantime."""
        if name.type_url == CLUSTER and self._is_warm(name):
            self._gates.open(name, now)
        else:
            self.has(by, name.name, now)

    def acknowledged(self, cluster: Name, now: float) -> None:
        """A cluster was acknowledged itself: proof, unless there is a better one to come."""
        part = self._part(cluster)
        if part is None:
            return
        if part.health_checked or not part.needs or self._is_warm(cluster):
            self._gates.open(cluster, now)

    def cools(self, need: Name, now: float) -> None:
        """Something that clusters need is new: those that are in use without it are to get it."""
        for user, _ in self._store.users.get(need, ()):
            if user.type_url == CLUSTER and user not in self._gates.closed:
                self._gates.close(user)
                self._gates.start(user, now)

    def has(self, by: Subscription, name: str, now: float) -> None:
        """The other side has the newest of what its clusters may be waiting for."""
        for user, _ in list(self._store.users.get(Name(by.type_url, name), ())):
            if user in self._gates.closed and self._is_warm(user):
                self._gates.open(user, now)

    def _resend_endpoints(self, cluster: Part) -> None:
        """Envoy warms a changed cluster anew, yet does not ask for its endpoints again."""
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
