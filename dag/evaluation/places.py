"""Where a request arrives: its listener, the certificate it is shown, its virtual host.

Names are looked up as Envoy does: the name itself, then wildcards from the longest to `*`. So the
cost grows with the labels of the name, not with the number of hosts.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from crds.records import replace
from dag import defaults, fleets, hosts, listeners, nodes, ports, services
from dag.configuration import settings
from dag.configuration.reading import Settings
from dag.engine.view import Index, Query
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Forwarded, Trace
from dag.gateway import clientports, filteredlisteners
from dag.values import hostnames

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
B = TypeVar("B", bound=Hashable)
M = TypeVar("M", bound=Hashable)


class World(Protocol):
    """The answers of the rules: an engine that has settled."""

    def answer(self, query: Query[K, V], key: K) -> V | None:
        """An answer; None where it is not kept."""
        ...

    def answers(self, query: Query[K, V]) -> Iterator[tuple[K, V]]:
        """All answers of a query."""
        ...

    def bucket(self, index: Index[B, M], key: B) -> frozenset[M]:
        """The members of an index under a key."""
        ...


class Closed(Exception):  # noqa: N818
    """The connection is closed before a request could be sent."""


def settings_of(world: World) -> Settings:
    """The settings of the ContourConfiguration, or the defaults."""
    return world.answer(settings.settings, ()) or Settings()


def client_traffic(
    world: World, at: nodes.ListenerKey, host: nodes.SecureHost | None
) -> nodes.ClientTraffic:
    """How Envoy reads the requests of a connection; `host` is None on plain HTTP."""
    if host is None:
        asked = world.answer(clientports.settings, at)
        found = asked.traffic if asked is not None else None
    else:
        found = host.tls.traffic if host.tls is not None else None
    return found or nodes.ClientTraffic()


def client_address(world: World, traffic: nodes.ClientTraffic) -> nodes.ClientAddress:
    """How Envoy finds the address of a client."""
    return traffic.address or nodes.ClientAddress(hops=settings_of(world).num_trusted_hops)


def listener(world: World, fleet: str, request: Request) -> nodes.ListenerKey:
    """The listener that a request's connection reaches. Raises Closed."""
    wanted = request.scheme.upper()
    found: list[tuple[nodes.ListenerKey, Any]] = [
        (key, it)
        for key, it in world.answers(listeners.listener)
        if it is not None and key.fleet == fleet and it.protocol == wanted
    ]
    for port in ("port", "bind_port"):
        for key, it in found:
            if getattr(it, port) == request.port:
                return _over_quic(world, key, request) if request.is_http3 else key
    raise Closed(f"nothing listens on port {request.port} for {wanted}")


def _over_quic(world: World, key: nodes.ListenerKey, request: Request) -> nodes.ListenerKey:
    """The listener, if it serves HTTP/3 as well. Raises Closed."""
    edge = world.answer(defaults.edge, ()) or nodes.Edge()
    every = world.answer(listeners.listeners, key.fleet) or ()
    asked = world.answer(clientports.settings, key)
    has_port = fleets.has_udp_port(every, key, lambda port: world.bucket(ports.UDP_HELD, port))
    if not (fleets.is_http3_wanted(edge, asked) and has_port):
        raise Closed(f"HTTP/3 is not served on port {request.port}")
    return key


def secure_host(
    world: World, at: nodes.ListenerKey, request: Request
) -> tuple[str, nodes.SecureHost]:
    """The host that terminates TLS of the connection: its name, and its terms. Raises Closed."""
    names = hostnames.covering(request.asked) if request.asked else (hostnames.EVERY,)
    for name in names:
        found = world.answer(hosts.secure_host, nodes.HostKey(*at, name))
        if found is not None and (not request.is_http3 or _speaks_http3(name, found)):
            return name, found
    what = "is served over HTTP/3" if request.is_http3 else "has a certificate"
    raise Closed(f"no host {what} for the server name {request.asked!r}")


def _speaks_http3(name: str, found: nodes.SecureHost) -> bool:
    """Whether a host is served over HTTP/3; one that stands for every other name is not."""
    return name != hostnames.EVERY and found.can_speak_http3


def filters_of_listener(
    world: World, at: nodes.ListenerKey, request: Request
) -> tuple[nodes.ListenerFilter, ...]:
    """The filters that a request passes before it is routed, in their order."""
    return tuple(
        it
        for it in world.answer(filteredlisteners.filters, at) or ()
        if hostnames.covers(it.host, request.name)
        and not any(hostnames.covers(other, request.name) for other in it.exceptions)
    )


def virtual_host(
    world: World, at: nodes.ListenerKey, request: Request, trace: Trace
) -> nodes.VirtualHost | Answer:
    """The virtual host of a request."""
    for name in hostnames.covering(request.name):
        key = nodes.HostKey(*at, name)
        if is_misdirected(world, key):
            return Answer(421, f"{name} is not served over TLS to this connection")
        found = world.answer(hosts.virtual_host, key)
        if found is not None:
            trace.note("host", "passed", f"{request.name} is served by the host {name}")
            return found
    return Answer(404, f"no route is served for the host {request.name} on this listener")


def is_misdirected(world: World, key: nodes.HostKey) -> bool:
    """Whether a host is there only so that no wider one takes its requests."""
    if world.answer(hosts.unserved_hosts, key.host) == (key,):
        return True
    secure = world.answer(hosts.secure_host, key) if key.host != hostnames.EVERY else None
    return secure is not None and secure.stream is not None


def misdirection(
    world: World, at: nodes.ListenerKey, host: nodes.VirtualHost, request: Request
) -> Answer | None:
    """421, if a request for a host may not come over this connection (RFC 9110, 15.5.20)."""
    name, connection = secure_host(world, at, request)
    own = world.answer(hosts.secure_host, nodes.HostKey(*at, host.host))
    tls = own.tls if own is not None else None
    refused = Answer(421, f"{host.host} is not served on connections for {request.asked or name!r}")
    if name == hostnames.EVERY and request.asked != request.name:
        return None if _is_open(host, tls, connection.tls) else refused
    if tls is None or not _asks_the_same(tls, connection.tls):
        return refused
    if request.name == request.asked:
        return None
    return None if _shares(host, request, tls == connection.tls) else refused


def _is_open(host: nodes.VirtualHost, tls: nodes.Tls | None, other: nodes.Tls | None) -> bool:
    """Whether a host may be reached by server names that have no certificate of their own."""
    if host.is_fallback or tls is None:
        return host.is_fallback
    if host.host == hostnames.EVERY:
        return _asks_the_same(tls, other)
    names = host.server_names
    return names is not None and names.pattern == hostnames.EVERY and tls == other


def _asks_the_same(tls: nodes.Tls, other: nodes.Tls | None) -> bool:
    if other is None:
        return False
    asked = (tls.clients, tls.minimum, tls.ciphers, tls.traffic)
    return asked == (other.clients, other.minimum, other.ciphers, other.traffic)


def _shares(host: nodes.VirtualHost, request: Request, is_same: bool) -> bool:
    """Whether both names are of one listener of a Gateway, with one certificate."""
    names = host.server_names
    if names is None or not is_same:
        return False
    return all(
        hostnames.covers(names.pattern, it)
        and not any(hostnames.covers(other, it) for other in names.exceptions)
        for it in (request.name, request.asked)
    )


def endpoints(world: World, cluster: nodes.Cluster) -> tuple[nodes.Endpoint, ...]:
    """The addresses that take a cluster's requests; a DNS name is for Envoy to resolve."""
    members = [it for it in cluster.members if it.weight]
    first = [it.port for it in members if not it.is_fallback] or [cluster.port]
    spare = [it.port for it in members if it.is_fallback]
    return _of_ports(world, first) or _of_ports(world, spare)


def _of_ports(world: World, ports: Iterable[nodes.ServicePort]) -> tuple[nodes.Endpoint, ...]:
    found = (world.answer(services.endpoints, it) for it in ports)
    return tuple(endpoint for it in found if it is not None for endpoint in it.endpoints)


def reached(world: World, answer: Answer) -> Answer:
    """The answer if Services have no endpoints: Envoy's 503, for all requests or for a share."""
    shares = tuple(_reached(world, it) for it in answer.backends)
    if not shares or not all(it.status for it in shares):
        return replace(answer, backends=shares)
    if all(it.cluster is None for it in shares):
        return replace(answer, backends=shares)
    if len({it.status for it in shares}) > 1:
        return replace(answer, backends=shares)
    changed = {it.response_headers for it in shares}
    return replace(
        answer,
        status=503,
        cause=nothing_ready(it.cluster for it in shares if it.cluster is not None),
        response_headers=changed.pop() if len(changed) == 1 else answer.response_headers,
    )


def nothing_ready(found: Iterable[nodes.Cluster]) -> str:
    """That Services have no endpoints, as words for people."""
    names = dict.fromkeys(str(it.port.service) for it in found)
    return f"no endpoint of Service {', '.join(names)} is ready"


def is_ready(world: World, cluster: nodes.Cluster) -> bool:
    """Whether a cluster has an endpoint; one whose name Envoy resolves is taken to have one."""
    return cluster.dns is not None or bool(endpoints(world, cluster))


def _reached(world: World, share: Forwarded) -> Forwarded:
    if share.cluster is None or is_ready(world, share.cluster):
        return share
    return share._replace(status=503)
