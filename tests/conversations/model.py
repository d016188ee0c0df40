"""An Envoy as the protocol demands it, and the promises it checks with every response.

It asks for the endpoints of the clusters it has and for the routes of its listener; what is bad
it refuses as a whole and keeps what it had. It judges what it gets by what was published, never
by what the server remembers. What it says arrives in order but late; its acknowledgements of
clusters arrive later still, as those of an Envoy do in which something warms.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from envoy.config.endpoint.v3 import endpoint_pb2

from contour.xds.fleet import Fleet
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, WHOLE
from tests.conversations.playbook import Client, DeltaClient, SotwClient, pb, routes_pb

endpoint_pb: Any = endpoint_pb2
BAD = "*bad*"


@dataclass
class World:
    """What is published: the judge of all."""

    hosts: dict[str, tuple[str, str]] = field(default_factory=dict)  # fqdn to cluster and domain
    clusters: dict[str, int] = field(default_factory=dict)  # name to the port of its endpoint
    removals: Counter[str] = field(default_factory=Counter)  # how often each host was removed
    once: dict[str, set[tuple[str, str]]] = field(default_factory=dict)  # good, at some time

    def is_bad(self, fqdn: str) -> bool:
        return self.hosts[fqdn][1] == BAD


class ModelEnvoy:
    """One Envoy with one aggregated stream."""

    def __init__(self, fleet: Fleet, world: World, dialect: type[DeltaClient | SotwClient]) -> None:
        self.world = world
        self.dialect = dialect
        self.hosts: dict[str, tuple[str, str]] = {}  # as they were accepted last
        self.has: dict[str, dict[str, bytes]] = {
            CLUSTER: {},
            ENDPOINTS: {},
            LISTENER: {},
            ROUTE: {},
        }
        self.connect(fleet)

    def connect(self, fleet: Fleet) -> None:
        """Begins a stream, telling what it has."""
        had = self.client.has if self.has[CLUSTER] else {}
        self.client: Client = self.dialect(fleet)
        self.client.has |= had
        self.said: deque[bytes] = deque()
        self.late: deque[bytes] = deque()
        self.asked: set[str] = set()
        for type_url in (CLUSTER, LISTENER):
            self.said.append(self.client.subscribe(type_url, (), **had.get(type_url, {})))
        self._ask_for_endpoints()
        self._ask_for_routes()

    def disconnect(self, now: float) -> None:
        self.client.stream.close(now)

    def read(self, now: float) -> bool:
        """Takes in one response; False if there is none."""
        response = self.client.stream.response(now)
        if response is None:
            return False
        push = self.client.take(response)
        bodies = self._bodies(response)
        is_good = push.type_url != ROUTE or self._judge(bodies)
        words = "" if is_good else "bad domain"
        answer = self.client.answer(push.type_url, words)
        (self.late if push.type_url == CLUSTER else self.said).append(answer)
        if is_good:
            self._apply(push.type_url, bodies, set(push.removed))
        return True

    def speak(self, now: float) -> bool:
        """One thing it has said arrives; False if there is none."""
        if self.said:
            self.client.stream.receive(self.said.popleft(), now)
            return True
        return False

    def speak_late(self, now: float) -> bool:
        """An acknowledgement of clusters arrives."""
        if self.late:
            self.client.stream.receive(self.late.popleft(), now)
            return True
        return False

    def _judge(self, bodies: dict[str, bytes]) -> bool:
        """Whether routes are good; in any case, they must keep what is promised."""
        is_good = True
        for body in bodies.values():
            hosts = _hosts(body)
            for fqdn, (cluster, domain) in hosts.items():
                if not cluster:
                    continue  # it is closed, and needs nobody
                assert cluster in self.has[CLUSTER], f"{fqdn} before its cluster {cluster}"
                assert cluster in self.has[ENDPOINTS], f"{fqdn} before endpoints of {cluster}"
                is_good &= domain != BAD
            for fqdn in self.hosts.keys() & self.world.hosts.keys():
                was_removed = self.removals[fqdn] != self.world.removals[fqdn]
                is_excused = was_removed and self.world.is_bad(fqdn)
                assert fqdn in hosts or is_excused, f"{fqdn} is served, but not in {sorted(hosts)}"
                is_less = is_closed(hosts.get(fqdn)) and not is_closed(self.hosts[fqdn])
                assert not is_less or is_excused, f"{fqdn} is served, and now it is closed"
        return is_good

    def _apply(self, type_url: str, bodies: dict[str, bytes], removed: set[str]) -> None:
        has = self.has[type_url]
        if self.dialect is SotwClient and type_url in WHOLE:
            removed = has.keys() - bodies.keys()
        for name in removed:
            assert type_url != CLUSTER or not self._uses(name), f"{name} removed while in use"
            has.pop(name, None)
        has.update(bodies)
        if type_url == ENDPOINTS:
            for name, body in bodies.items():
                is_empty = not endpoint_pb.ClusterLoadAssignment.FromString(body).endpoints
                assert not (is_empty and self._uses(name)), f"{name} emptied while in use"
        if type_url == ROUTE:
            self.hosts = {fqdn: it for body in bodies.values() for fqdn, it in _hosts(body).items()}
            self.removals = self.world.removals.copy()
        if type_url == CLUSTER:
            self._ask_for_endpoints()
        if type_url == LISTENER:
            self._ask_for_routes()

    def _uses(self, cluster: str) -> bool:
        return any(it == cluster for it, _ in self.hosts.values())

    def _ask_for_endpoints(self) -> None:
        clusters = set(self.has[CLUSTER])
        new, old = clusters - self.asked, self.asked - clusters - {"web"}
        versions = {it: v for it, v in self.client.has.get(ENDPOINTS, {}).items() if it in new}
        if new:
            self.said.append(self.client.subscribe(ENDPOINTS, sorted(new), **versions))
        if old:
            self.said.append(self.client.unsubscribe(ENDPOINTS, sorted(old)))
        for name in old:
            self.has[ENDPOINTS].pop(name, None)
        self.asked = (self.asked | new) - old

    def _ask_for_routes(self) -> None:
        if self.has[LISTENER] and "web" not in self.asked:
            self.asked.add("web")
            had = self.client.has.get(ROUTE, {})
            self.said.append(self.client.subscribe(ROUTE, ["web"], **had))

    def _bodies(self, response: bytes) -> dict[str, bytes]:
        if self.dialect is DeltaClient:
            found = pb.DeltaDiscoveryResponse.FromString(response).resources
            return {it.name: it.resource.value for it in found}
        type_url = pb.DiscoveryResponse.FromString(response).type_url
        return dict(self.client.has[type_url]) if type_url in WHOLE else _listed(response)


def is_closed(host: tuple[str, str] | None) -> bool:
    """Whether it stands in for a host that is refused and was never accepted."""
    return host is not None and not host[0]


def _listed(response: bytes) -> dict[str, bytes]:
    found = pb.DiscoveryResponse.FromString(response).resources
    # The names of both types that are not listed whole are in field 1.
    return {
        routes_pb.RouteConfiguration.FromString(it.value[: 2 + it.value[1]]).name: it.value
        for it in found
    }


def _hosts(body: bytes) -> dict[str, tuple[str, str]]:
    routes = routes_pb.RouteConfiguration.FromString(body)
    return {it.name: (it.routes[0].route.cluster, it.domains[0]) for it in routes.virtual_hosts}
