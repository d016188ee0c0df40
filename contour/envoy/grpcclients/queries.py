"""The tracked queries for gRPC clients: exported ports, their backends, and endpoints.

Every answer has its parts in all spellings. A port demands its backends, a backend its endpoints;
what no port uses any more is removed automatically.
"""

from itertools import product
from typing import NamedTuple

from contour.envoy.credentials import Pieces
from contour.envoy.grpcclients import messages, servers, spellings
from contour.xds import resources
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, Change, Name
from crds.meta import NamespacedName, ObjectRef
from dag import exports, nodes, services, tables
from dag.engine.view import Kept, View, query
from dag.exports import ExportedPort
from dag.gateway import servicehosts


class PortKey(NamedTuple):
    """An exported port, for the fleet of gRPC clients."""

    fleet: str
    port: ExportedPort


class BackendKey(NamedTuple):
    """A backend of an exported port, for the clients that may call the port."""

    fleet: str
    port: ExportedPort
    to: nodes.ServicePort | None
    """None: a share without a backend."""
    audience: frozenset[str] | None


class ServersKey(NamedTuple):
    """The servers of an exported Service that get their configuration by xDS, too."""

    fleet: str
    service: NamespacedName


class FleetKey(NamedTuple):
    """The fleet of gRPC clients."""

    fleet: str


@query
def grpc_clients(view: View, _: FleetKey) -> Pieces | None:
    """Has no parts: while it has an answer, gRPC clients are served, whatever is exported."""
    return () if view.ask(exports.authorities, ()) is not None else None


@query
def exported_port(view: View, key: PortKey) -> Pieces | None:
    """The listeners and routes of an exported port."""
    found = view.ask(servicehosts.service_host, key.port)
    if found is None:
        return None
    backends = messages.ports(found.routes)
    peers = {it: name for it in backends if (name := _elsewhere(view, it)) is not None}
    for to in (*backends, found.port):  # other control planes may refer to the port's own cluster
        if _elsewhere(view, to) is None:
            view.demand(backend, BackendKey(key.fleet, key.port, to, found.audience))
    pieces: list[Change] = []
    for spelling in _spellings(view):
        there = spellings.Spelling(found.authority) if found.authority else spelling
        routes = there.name(ROUTE, spellings.port(key.port))
        if there is spelling:
            ours = [it for it in backends if it not in peers]
            names = {it: spelling.name(CLUSTER, spellings.backend(key.port, it)) for it in ours}
            called = {it: name.name for it, name in {**names, **peers}.items()}
            body = messages.routes(routes.name, found.routes, called)
            part = _part(body, names.values(), found.origins, found.audience)
            pieces.append(Change(routes, "", part))
        for target in spellings.targets(key.port, is_only=found.is_only):
            name = spelling.name(LISTENER, target)
            body = messages.listener(name.name, routes.name)
            pieces.append(Change(name, "", _part(body, (), found.origins, found.audience)))
    return tuple(pieces)


def _elsewhere(view: View, to: nodes.ServicePort | None) -> Name | None:
    """The cluster of a backend that another control plane serves; None if it is ours."""
    found = view.ask(exports.export, to.service) if to is not None else None
    if to is None or found is None or not found.authority:
        return None
    own = ExportedPort(to.service, to.port)
    return spellings.Spelling(found.authority).name(CLUSTER, spellings.port(own))


_part = resources.part


@query
def backend(view: View, key: BackendKey) -> Pieces:
    """The clusters of a backend."""
    view.demand(backend_endpoints, key)
    called = view.ask(exports.export, key.to.service) if key.to is not None else None
    tls_with = key.to.service.namespace if key.to and called and called.has_tls else None
    pieces: list[Change] = []
    for spelling in _spellings(view):
        name = spelling.name(CLUSTER, spellings.backend(key.port, key.to))
        source = spelling.name(ENDPOINTS, spellings.backend(key.port, key.to))
        body = messages.cluster(name.name, source.name, tls_with)
        pieces.append(Change(name, "", _part(body, (source,), _origins(key), key.audience)))
    return tuple(pieces)


@query
def backend_endpoints(view: View, key: BackendKey) -> Pieces:
    """The endpoints of a backend; an answer even if there are none."""
    zones = view.ask(services.zones, key.to) if key.to is not None else ()
    is_zonal = key.to is not None and view.ask(services.prefers_zone, key.to.service)
    preferred = [zone for zone, _ in zones if zone] if is_zonal and len(zones) > 1 else []
    pieces: list[Change] = []
    for spelling in _spellings(view):
        name = spelling.name(ENDPOINTS, spellings.backend(key.port, key.to))
        body = messages.endpoints(name.name, zones)
        by_zone = {it: messages.endpoints(name.name, zones, it) for it in preferred}
        pieces.append(Change(name, "", _part(body, (), _origins(key), key.audience, by_zone)))
    return tuple(pieces)


@query
def server_listeners(view: View, key: ServersKey) -> Pieces:
    """The listeners of the servers of an exported Service, for its own namespace; none if another
    control plane serves it."""
    export = view.ask(exports.export, key.service)
    if export is None or export.authority:
        return ()
    own = frozenset((key.service.namespace,))
    numbers = {number for port in export.ports for number in view.ask(services.listening, port)}
    local = () if view.read(tables.LOOPBACK_REFUSED, ()) else servers.LOOPBACK
    pieces: list[Change] = []
    for spelling, number in product(_spellings(view), sorted(numbers)[:MOST_NUMBERS]):
        for address in (*servers.ANYWHERE, *local):
            name = spelling.name(LISTENER, spellings.server(key.service, address, number))
            body = servers.listener(name.name, address, number, export)
            part = _part(body, (), (ObjectRef("Service", *key.service),), own)
            pieces.append(Change(name, "", part))
    return tuple(pieces)


MOST_NUMBERS = 16
"""Ports on which servers of one Service listen."""


def _spellings(view: View) -> tuple[spellings.Spelling, ...]:
    authorities = view.ask(exports.authorities, ())
    return spellings.spellings(authorities or ())


def _origins(key: BackendKey) -> tuple[ObjectRef, ...]:
    """The exported Service, and the Service to which its calls go."""
    own, to = key.port.service, key.to.service if key.to is not None else key.port.service
    return tuple(ObjectRef("Service", *it) for it in dict.fromkeys((own, to)))


def _fleet(_: tuple[()]) -> FleetKey:
    return FleetKey(exports.FLEET)


def _servers_of(service: NamespacedName) -> ServersKey:
    return ServersKey(exports.FLEET, service)


def _of_fleet(port: ExportedPort) -> PortKey:
    return PortKey(exports.FLEET, port)


KEPT = (
    Kept(grpc_clients, tables.ALL_CONFIGURATIONS, _fleet),
    Kept(exported_port, exports.EXPORTED, _of_fleet),
    Kept(server_listeners, exports.EXPORTED_SERVICES, _servers_of),
)
PUBLISHED = (grpc_clients, backend_endpoints, backend, exported_port, server_listeners)
