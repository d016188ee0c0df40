"""Services: what a reference to a Service port leads to, and which endpoints take its traffic.

EndpointSlices are found by the name of the Service's port (EndpointSlice API, "ports"), unless the
Service has addresses on this machine (`localbackends`). On one machine, a Service without
EndpointSlices is looked up in the host's DNS (`hostdns`). Services of type ExternalName are refused
unless the configuration allows them. Elsewhere: addresses and names that Envoy must not connect to
(`addresses`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from crds import endpointslice, service
from crds.ipaddresses import is_ip_address
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import backendaddresses, hints, hostdns, limits, localbackends, nodes, tables
from dag.configuration import settings
from dag.engine.view import Index, View, query
from dag.foreign import ignored
from dag.problems import Problem, referents
from dag.values import addresses

UPSTREAM_PROTOCOL = "projectcontour.io/upstream-protocol."
"""Prefix of the Service annotations that list the ports speaking `h2c`, `h2` or `tls`."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A Service port that can take traffic."""

    port: nodes.ServicePort
    dns: nodes.DnsAddress | None = None  # only of ExternalName Services
    protocol: nodes.UpstreamProtocol = "http/1.1"
    limits: nodes.CircuitBreakers | None = None
    """The limits by annotations of the Service; for others, those of the configuration count."""
    left_out: str = ""
    """Which endpoints get no traffic whatever their state, and why; empty if there are none."""
    app_protocol: str = ""
    """`appProtocol` of the Service port; the Gateway API refuses unknown ones."""

    @property
    def server_name(self) -> str:
        """What TLS asks an external name for (SNI), which may share its address with others; empty
        for other Services, and for an address, which is no server name (RFC 6066)."""
        if self.dns is None or is_ip_address(self.dns.host):
            return ""
        return self.dns.host

    @property
    def unspoken(self) -> str:
        """That the appProtocol is not known, as a sentence; empty if it is."""
        if self.app_protocol in _SPOKEN:
            return ""
        text = f"port {self.port.port} of Service {self.port.service} has appProtocol "
        return f"{text}{self.app_protocol[:60]!r}, which is not known: it gets HTTP/1.1 without TLS"


@query
def upstream(view: View, key: tuple[NamespacedName, int]) -> Upstream | Problem:
    """What a reference to a Service and one of its port numbers leads to."""
    name, number = key
    found, is_local = view.read(tables.SERVICES, name), bool(localbackends.endpoints(view, name))
    if found is None and not is_local:
        return referents.service_not_found(name, hints.hint(view, ObjectRef("Service", *name)))
    if found is not None and (refusal := closed(view, found)):
        return refusal
    if found is None or (is_local and found.spec.type == "ExternalName"):
        return Upstream(nodes.ServicePort(name, number, ""))
    if found.spec.type == "ExternalName":
        return _external(view, found, number)
    port = _port(found, number)
    if port is None:
        return referents.port_not_found(name, str(number), found.spec.ports)
    return _internal(view, found, port)


@query
def port(view: View, key: tuple[NamespacedName, int]) -> nodes.ServicePort | None:
    """The TCP port of a Service with a number; None if there is none."""
    name, number = key
    found = view.read(tables.SERVICES, name)
    has = _port(found, number) if found is not None else None
    if has is None or has.protocol != "TCP":
        return None
    return nodes.ServicePort(name, number, has.name)


@query
def endpoints(view: View, port: nodes.ServicePort) -> nodes.Endpoints:
    """The ready endpoints; if none is ready, those that still serve while they terminate."""
    return _found(view, port)


@query
def numbers(view: View, port: nodes.ServicePort) -> tuple[tuple[str, int], ...]:
    """The addresses of the endpoints of a port, each with the number on which it listens. For ports
    that get no requests: those with `endpoints` are reported if there are none."""
    return tuple((it.address, it.port) for it in _found(view, port).endpoints)


def _found(view: View, port: nodes.ServicePort) -> nodes.Endpoints:
    if port.kind == backendaddresses.KIND:
        return backendaddresses.endpoints(view, port.service)
    if local := localbackends.endpoints(view, port.service):
        return nodes.Endpoints(local)
    if slices := tuple(_slices(view, port.service)):
        return of_slices(view, slices, port.port_name)
    return hostdns.endpoints(view, port)


def of_slices(
    view: View, slices: Iterable[endpointslice.EndpointSlice], port_name: str
) -> nodes.Endpoints:
    """The ready endpoints of EndpointSlices at a port, by its name; if none is ready, those that
    still serve while they terminate."""
    by_state: defaultdict[str, set[nodes.Endpoint]] = defaultdict(set)
    faults: set[tuple[str, str]] = set()
    for it, found in _listed(view, slices, port_name, faults):
        by_state[_state(found.conditions)].add(it)
    return _bounded(sorted(by_state["ready"] or by_state["leaving"]), sorted(faults))


@query
def zones(
    view: View, port: nodes.ServicePort
) -> tuple[tuple[str, tuple[nodes.Endpoint, ...]], ...]:
    """The endpoints by zone, sorted; the zone is empty for those without one."""
    served = frozenset(view.ask(endpoints, port).endpoints)
    zone_of: dict[nodes.Endpoint, str] = {}
    for it, found in _listed(view, _slices(view, port.service), port.port_name, set()):
        if it in served:  # an address in two zones is in the first of them
            zone_of[it] = min(zone_of.get(it, found.zone), found.zone)
    by_zone: defaultdict[str, list[nodes.Endpoint]] = defaultdict(list)
    for it in sorted(served):
        by_zone[zone_of.get(it, "")].append(it)
    return tuple((zone, tuple(found)) for zone, found in sorted(by_zone.items()))


_PREFER_ZONE = ("PreferSameZone", "PreferClose", "PreferSameNode")
"""Values of a Service's `trafficDistribution`; `PreferClose` is the older name of the first."""


@query
def prefers_zone(view: View, service_: NamespacedName) -> bool:
    """Whether clients are to call the endpoints in their own zone, as long as there are some."""
    found = view.read(tables.SERVICES, service_)
    return found is not None and found.spec.traffic_distribution in _PREFER_ZONE


@query
def listening(view: View, port: nodes.ServicePort) -> tuple[int, ...]:
    """The numbers on which the endpoints of a port listen, ready or not, sorted."""
    slices = _slices(view, port.service)
    found = {it.port for slice_ in slices for it in slice_.ports if it.name == port.port_name}
    return tuple(sorted(it for it in found if it is not None))


def _slices(view: View, service_: NamespacedName) -> Iterator[endpointslice.EndpointSlice]:
    for key in view.bucket(tables.SLICES_OF, service_):
        if (found := view.read(tables.ENDPOINT_SLICES, key)) is not None:
            yield found


def _listed(
    view: View,
    slices: Iterable[endpointslice.EndpointSlice],
    port_name: str,
    faults: set[tuple[str, str]],
) -> Iterator[tuple[nodes.Endpoint, endpointslice.Endpoint]]:
    """Every endpoint at a port, whatever its state, as its slice has it; adds what is wrong with
    others to the faults."""
    is_local = not view.read(tables.LOOPBACK_REFUSED, ())
    for slice_ in slices:
        for text, found, number in _endpoints(slice_, port_name):
            address = addresses.of_family(text, slice_.address_type)
            if fault := _fault(address, slice_.address_type, loopback=is_local):
                faults.add((text[:_LONGEST], fault))
            else:
                yield nodes.Endpoint(str(address), number), found


def _fault(address: addresses.Address | None, family: str, *, loopback: bool) -> str | None:
    if address is None:
        return _NO_ADDRESS[family]
    return addresses.endpoint_fault(address, loopback=loopback)


_NO_ADDRESS: Mapping[str, str] = {
    "IPv4": "no IPv4 address",
    "IPv6": "no IPv6 address",
    "FQDN": "names are not served",
}

MAX_ENDPOINTS = 10_000
"""The most endpoints of a Service port."""

_LONGEST = 60
"""The most characters of an address in a message."""
_TOLD = 3
"""The most addresses that are named in a message."""


def _bounded(found: list[nodes.Endpoint], faults: list[tuple[str, str]]) -> nodes.Endpoints:
    """The endpoints up to the limit, and what is left out."""
    told = [f"{text!r} ({why})" for text, why in faults[:_TOLD]]
    if len(faults) > _TOLD:
        told.append(f"{len(faults) - _TOLD} more")
    if len(found) > MAX_ENDPOINTS:
        told.append(f"all but the first {MAX_ENDPOINTS}")
    return nodes.Endpoints(tuple(found[:MAX_ENDPOINTS]), ", ".join(told))


LEFT_OUT: Index[nodes.ServicePort, str] = Index(
    "endpoints that are left out",
    endpoints,
    lambda port, found: [(port, found.left_out)] if found.left_out else [],
)
"""By port: what is left out, for objects that use the Service. An index, so that endpoints that
come and go affect only Envoy."""


def left_out(view: View, port: nodes.ServicePort) -> str:
    """The endpoints of a Service port that get no traffic whatever their state, as a sentence; or
    why none can be found."""
    if found := "; ".join(sorted(view.bucket(LEFT_OUT, port))):
        return f"endpoints of Service {port.service} are left out: {found}"
    if why := hostdns.fault(view, port.service):
        return f"Service {port.service} has no EndpointSlices, and {why}"
    return ""


def closed(view: View, found: service.Service) -> Problem | None:
    """A problem if a Service has an annotation of another controller that is to guard it."""
    guards = ignored.closing(view, "Service", found.metadata)
    if not guards:
        return None
    return referents.service_is_closed(found.metadata.key, guards[0].name)


def _port(found: service.Service, number: int) -> service.ServicePort | None:
    """The port with a number: that for TCP, if there is also one for UDP or SCTP."""
    alike = (it for it in found.spec.ports if it.port == number)
    return min(alike, key=lambda it: it.protocol != "TCP", default=None)


def _internal(view: View, found: service.Service, port: service.ServicePort) -> Upstream | Problem:
    name = found.metadata.key
    if port.protocol != "TCP":
        return referents.port_not_tcp(name, port.port)
    reference = nodes.ServicePort(name, port.port, port.name)
    return Upstream(
        reference,
        protocol=_protocol(found, port),
        left_out=left_out(view, reference),
        limits=limits.annotated(found.metadata),
        app_protocol=_app_protocol(port),
    )


def _protocol(found: service.Service, port: service.ServicePort) -> nodes.UpstreamProtocol:
    """The protocol of a Service port; an appProtocol replaces the annotations."""
    match _app_protocol(port):
        case "kubernetes.io/h2c":
            return "h2c"
        case "https":
            return "tls"
        case "":
            return _annotated_protocol(found, port)
        case _:
            return "http/1.1"


_SPOKEN = frozenset({"", "http", "https", "kubernetes.io/h2c", "kubernetes.io/ws"})
"""The values of `appProtocol` that Ingresses and HTTPProxies know."""


def _app_protocol(port: service.ServicePort) -> str:
    """The appProtocol; IANA names are case-insensitive (RFC 6335), those with a domain are not."""
    name = port.app_protocol
    return name if "/" in name else name.lower()


_ANNOTATED: tuple[nodes.UpstreamProtocol, ...] = ("h2", "tls", "h2c")
"""The first one that lists a port counts: what is encrypted wins."""


def _annotated_protocol(
    found: service.Service, port: service.ServicePort
) -> nodes.UpstreamProtocol:
    for protocol in _ANNOTATED:
        if not _names(port).isdisjoint(_listed_ports(found, protocol)):
            return protocol
    return "http/1.1"


def unread(found: service.Service) -> Iterator[tuple[str, str]]:
    """The annotations for the protocols of ports that list no port, each with the reason."""
    names = frozenset[str]().union(*map(_names, found.spec.ports))
    for protocol in _ANNOTATED:
        for it in dict.fromkeys(_listed_ports(found, protocol)):
            if it not in names:
                yield UPSTREAM_PROTOCOL + protocol, f"{it[:60]!r} is no port of the Service"


def _names(port: service.ServicePort) -> frozenset[str]:
    return frozenset({str(port.port), port.name} - {""})


def _listed_ports(found: service.Service, protocol: str) -> list[str]:
    listed = found.metadata.annotations.get(UPSTREAM_PROTOCOL + protocol, "").split(",")
    return [it.strip() for it in listed if it.strip()]


def _external(view: View, found: service.Service, number: int) -> Upstream | Problem:
    name = found.metadata.key
    if not view.ask(settings.external_names, ()):
        return referents.external_name_disabled(name)
    host = found.spec.external_name.lower().removesuffix(".")
    if refusal := addresses.refusal(host):
        return referents.external_name_not_valid(name, host, refusal)
    port = _port(found, number)
    protocol = _protocol(found, port) if port is not None else "http/1.1"
    reference = nodes.ServicePort(name, number, port.name if port is not None else "")
    address = nodes.DnsAddress(host, number)
    return Upstream(reference, address, protocol, limits.annotated(found.metadata))


def _endpoints(
    found: endpointslice.EndpointSlice, port_name: str
) -> Iterator[tuple[str, endpointslice.Endpoint, int]]:
    """The first address of every endpoint of a slice, with each port number of this name."""
    numbers = [it.port for it in found.ports if it.name == port_name]  # of TCP or UDP
    for endpoint in found.endpoints:
        for number in numbers:
            if endpoint.addresses and number is not None:
                yield endpoint.addresses[0], endpoint, number


def _state(conditions: endpointslice.EndpointConditions) -> Literal["ready", "leaving", "away"]:
    """The state of an endpoint; absent conditions are true (EndpointSlice API, "conditions")."""
    if conditions.ready is not False:
        return "ready"
    if conditions.serving is not False and conditions.terminating:
        return "leaving"
    return "away"
