"""Which listener owns a host, and which Envoy listeners the served listeners share.

Of the listeners on a port, the one with the most specific host name owns a host ("HTTP Listener
Isolation"). Found through indexes by host, so a listener that comes or goes wakes only the hosts
that it covers, however many ListenerSets there are. Listeners on one port share an Envoy listener.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import attachment, listeners, listenersets, selection
from dag.gateway.attachment import AttachmentPoint
from dag.gateway.listeners import ListenerState
from dag.gateway.listenerspecs import FAMILIES, Family, Section
from dag.values import hostnames


@dataclass(frozen=True, slots=True)
class ServedListener:
    """A served listener, or one that lacks nothing but its certificates (`lacks_certificates`)."""

    gateway: NamespacedName
    section: Section
    host: nodes.HostKey
    """Its own host."""
    protocol: str
    port: int
    """The port that users see."""
    allows_certificates: bool = False
    """Routes may bring certificates for their hosts."""
    secrets: tuple[NamespacedName, ...] = ()
    clients: nodes.ClientValidation | None = None
    terminates: bool = False
    is_closed: bool = False
    """Something guards it that is not served, so every request is answered with 503."""
    is_filtered: bool = False
    """Its requests pass filters before they are routed (`filteredlisteners`)."""
    lacks_certificates: bool = False
    """It has no certificate, or cannot check those of clients. Its host is no other listener's, and
    nothing is routed on it."""
    checks_clients: bool = False
    """It does, or would if it did not lack certificates."""

    @property
    def family(self) -> Family:
        """The family of its protocol."""
        return FAMILIES[self.protocol]

    @property
    def is_http(self) -> bool:
        """Whether it takes HTTP requests, and not streams."""
        return self.protocol in {"HTTP", "HTTPS"}

    @property
    def passes_tls_on(self) -> bool:
        """Whether backends get the TLS of clients as it is."""
        return self.protocol == "TLS" and not self.terminates


@query
def served(view: View, holder: ObjectRef) -> tuple[ServedListener, ...]:
    """The served listeners of a Gateway or ListenerSet, and those that lack only certificates."""
    gateway = view.ask(listenersets.gateway_of, holder)
    fleet = view.ask(selection.fleet, gateway) if gateway is not None else None
    if gateway is None or fleet is None:
        return ()
    found = view.ask(listeners.states, holder)
    kept = (it for it in found if it.is_served or it.is_closed or it.lacks_certificates)
    return tuple(_owner(fleet, gateway, it) for it in kept)


def _owner(fleet: str, gateway: NamespacedName, state: ListenerState) -> ServedListener:
    spec = state.spec
    return ServedListener(
        gateway=gateway,
        section=spec.section,
        host=nodes.HostKey(fleet, spec.listener, spec.host),
        protocol=spec.protocol,
        port=spec.port,
        allows_certificates=spec.allows_certificates,
        secrets=state.secrets,
        clients=state.clients,
        terminates=state.terminates,
        is_closed=state.is_closed,
        is_filtered=bool(state.filters),
        lacks_certificates=state.lacks_certificates,
        checks_clients=state.checks_clients,
    )


@query
def owner(view: View, key: nodes.HostKey) -> ServedListener | None:
    """The listener that owns a host; None for a host that is neither its own nor of a route."""
    found = _nearest(view, key)
    if found is None or found.host.host == key.host:
        return found
    point = AttachmentPoint(key, found.section)
    return found if view.count(attachment.ATTACHED, point) > 0 else None


def taker(view: View, key: nodes.HostKey) -> ServedListener | None:
    """The listener that takes requests for a host, of whichever API."""
    return view.ask(owner, key) or _nearest(view, key)


def _nearest(view: View, key: nodes.HostKey) -> ServedListener | None:
    """The listener of a host, or of the most specific one that covers it."""
    for found in view.bucket(OWNERS, key):
        return found
    wider = hostnames.wider(key.host)
    return view.ask(covering, key._replace(host=wider)) if wider else None


@query
def covering(view: View, key: nodes.HostKey) -> ServedListener | None:
    """The listener of the most specific host that covers this one or is equal; a query, so that
    hosts share it."""
    for host in hostnames.covering(key.host):
        for found in view.bucket(OWNERS, key._replace(host=host)):
            return found
    return None


def has_tls(view: View, key: nodes.HostKey) -> bool:
    """Whether a listener has this host that takes TLS connections for it."""
    found = (it for it in view.bucket(OWNERS, key) if it.family == "HTTPS")
    return any(it.secrets or it.passes_tls_on for it in found)


def is_closed(view: View, key: nodes.HostKey) -> bool:
    """Whether the listener that takes requests for a host is closed."""
    found = taker(view, key)
    return found is not None and found.is_closed


def _own_host(
    _: ObjectRef, found: tuple[ServedListener, ...]
) -> Iterator[tuple[nodes.HostKey, ServedListener]]:
    return ((it.host, it) for it in found)


def _covering(
    _: ObjectRef, found: tuple[ServedListener, ...]
) -> Iterator[tuple[nodes.HostKey, str]]:
    for it in found:
        if it.family == "HTTPS":
            own = it.host.host
            wider = (host for host in hostnames.covering(own) if host != own)
            yield from ((it.host._replace(host=host), own) for host in wider)


Port = tuple[str, nodes.Protocol, int]


def _port(_: ObjectRef, found: tuple[ServedListener, ...]) -> Iterator[tuple[str, Port]]:
    served = (it for it in found if not it.lacks_certificates)
    return ((it.host.fleet, (it.host.listener, it.family, it.port)) for it in served)


def _maker(
    holder: ObjectRef, found: tuple[ServedListener, ...]
) -> Iterator[tuple[nodes.ListenerKey, ObjectRef]]:
    """The owner of an Envoy listener: the Gateway, or the holder of a stream's own port."""
    for it in (it for it in found if not it.lacks_certificates):
        is_shared = it.family in {"HTTP", "HTTPS"}
        maker = ObjectRef("Gateway", *it.gateway) if is_shared else holder
        yield nodes.ListenerKey(it.host.fleet, it.host.listener), maker


def _every_name(
    _: ObjectRef, found: tuple[ServedListener, ...]
) -> Iterator[tuple[nodes.HostKey, Section]]:
    for it in found:
        if it.family == "HTTPS" and not it.is_http and not it.lacks_certificates:
            yield it.host._replace(host=hostnames.EVERY), it.section


OWNERS: Index[nodes.HostKey, ServedListener] = Index("listeners by their host", served, _own_host)
NARROWER: Index[nodes.HostKey, str] = Index("hosts of listeners within a host", served, _covering)
PORTS: Index[str, Port] = Index("ports of a fleet", served, _port)
STREAMED: Index[nodes.HostKey, Section] = Index("ports with TLS streams", served, _every_name)


def name_of(key: nodes.HostKey) -> str:
    """The host name of a bucket of `STREAMED`."""
    return key.host


MAKERS: Index[nodes.ListenerKey, ObjectRef] = Index("who made a listener", served, _maker)


def _http(key: nodes.HostKey, found: ServedListener) -> Iterator[tuple[nodes.HostKey, None]]:
    if found.is_http and not found.lacks_certificates:
        yield key, None


def _secure(key: nodes.HostKey, found: ServedListener) -> Iterator[tuple[nodes.HostKey, None]]:
    if found.family == "HTTPS":
        yield key, None


def _secure_wildcard(key: nodes.HostKey, found: ServedListener) -> Iterator[tuple[str, None]]:
    if found.family == "HTTPS" and hostnames.is_wildcard(key.host):
        yield key.host, None


def _host_of(point: attachment.AttachmentPoint) -> nodes.HostKey:
    return point.host


HOSTS: Index[nodes.HostKey, None] = Index("hosts of Gateways", owner, _http)
SECURE_HOSTS: Index[nodes.HostKey, None] = Index("TLS hosts of Gateways", owner, _secure)
SECURE_WILDCARDS: Index[str, None] = Index("TLS wildcards of Gateways", owner, _secure_wildcard)

INDEXES = (OWNERS, NARROWER, PORTS, STREAMED, MAKERS, HOSTS, SECURE_HOSTS, SECURE_WILDCARDS)
KEPT = (
    Kept(served, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(served, tables.LISTENER_SETS, listenersets.ref),
    Kept(owner, OWNERS),
    Kept(owner, attachment.ATTACHED, _host_of),
)
