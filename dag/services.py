"""Services: what a reference to a Service port leads to, and which endpoints take its traffic.

EndpointSlices are found by the name of the Service's port (EndpointSlice API, "ports"). Services
of type ExternalName are refused unless the configuration allows them, and never lead to the
proxy's own machine (GHSA-5ph6-qq5x-7jwc).
"""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from crds import endpointslice, service
from crds.meta import NamespacedName
from dag import hostnames, limits, nodes, settings, tables
from dag.view import View, query

UPSTREAM_PROTOCOL = "projectcontour.io/upstream-protocol."
"""Prefix of the Service annotations that list the ports speaking `h2c`, `h2` or `tls`."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A Service port that can take traffic."""

    port: nodes.ServicePort
    dns: nodes.DnsAddress | None = None  # only of ExternalName Services
    protocol: nodes.UpstreamProtocol = "http/1.1"
    limits: nodes.CircuitBreakers | None = None
    """What annotations of the Service allow; the configuration's limits if None."""
    app_protocol: str = ""
    """As the Service says it; the Gateway API refuses the ones it does not know."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference that leads nowhere."""

    kind: Literal["ServiceNotFound", "PortNotFound", "ExternalName", "Protocol"]
    message: str


@query
def upstream(view: View, key: tuple[NamespacedName, int]) -> Upstream | Unresolved:
    """What a reference to a Service and one of its port numbers leads to."""
    name, number = key
    found = view.read(tables.SERVICES, name)
    if found is None:
        return Unresolved("ServiceNotFound", f"Service {name} not found")
    if found.spec.type == "ExternalName":
        return _external(view, found, number)
    for port in found.spec.ports:
        if port.port == number:
            return _internal(found, port)
    return Unresolved("PortNotFound", f"Service {name} has no port {number}")


@query
def endpoints(view: View, port: nodes.ServicePort) -> nodes.Endpoints:
    """The ready endpoints; where none is ready, the ones that still serve while they terminate."""
    slices = [
        found
        for key in view.bucket(tables.SLICES_OF, port.service)
        if (found := view.read(tables.ENDPOINT_SLICES, key)) is not None
    ]
    ready = set(_addresses(slices, port.port_name, "ready"))
    return nodes.Endpoints(tuple(sorted(ready or _addresses(slices, port.port_name, "leaving"))))


def _internal(found: service.Service, port: service.ServicePort) -> Upstream | Unresolved:
    name = found.metadata.key
    if port.protocol != "TCP":
        return Unresolved("Protocol", f"port {port.port} of Service {name} is not a TCP port")
    reference = nodes.ServicePort(name, port.port, port.name)
    return Upstream(
        reference,
        protocol=_protocol(found, port),
        limits=limits.annotated(found.metadata),
        app_protocol=_app_protocol(port),
    )


def _protocol(found: service.Service, port: service.ServicePort) -> nodes.UpstreamProtocol:
    """An appProtocol replaces the annotations."""
    match _app_protocol(port):
        case "kubernetes.io/h2c":
            return "h2c"
        case "https":
            return "tls"
        case "":
            return _annotated_protocol(found, port)
        case _:
            return "http/1.1"


def _app_protocol(port: service.ServicePort) -> str:
    """Names of the IANA registry have no case (RFC 6335); those with a domain are Kubernetes'."""
    name = port.app_protocol
    return name if "/" in name else name.lower()


_ANNOTATED: tuple[nodes.UpstreamProtocol, ...] = ("h2", "tls", "h2c")
"""The first one that lists a port counts: what is encrypted wins."""


def _annotated_protocol(
    found: service.Service, port: service.ServicePort
) -> nodes.UpstreamProtocol:
    names = {str(port.port), port.name} - {""}
    for protocol in _ANNOTATED:
        value = found.metadata.annotations.get(UPSTREAM_PROTOCOL + protocol, "")
        if not names.isdisjoint(it.strip() for it in value.split(",")):
            return protocol
    return "http/1.1"


def _external(view: View, found: service.Service, number: int) -> Upstream | Unresolved:
    name = found.metadata.key
    if not view.ask(settings.external_names, ()):
        message = (
            f"Service {name} is of type ExternalName, which is refused unless the "
            "ContourConfiguration has enableExternalNameService: true"
        )
        return Unresolved("ExternalName", message)
    host = found.spec.external_name.lower().removesuffix(".")
    if refusal := address_refusal(host):
        return Unresolved("ExternalName", f"Service {name}: externalName {host!r} {refusal}")
    ports = [it for it in found.spec.ports if it.port == number]
    protocol = _protocol(found, ports[0]) if ports else "http/1.1"
    reference = nodes.ServicePort(name, number, ports[0].name if ports else "")
    address = nodes.DnsAddress(host, number)
    return Upstream(reference, address, protocol, limits.annotated(found.metadata))


_OWN_NAMES = frozenset(
    {
        "localhost",
        "localhost.localdomain",
        "local.projectcontour.io",
        "metadata",
        "metadata.google.internal",
    }
)


def address_refusal(host: str) -> str | None:
    """Why Envoy must not be led to this name or address, as the end of a sentence."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _name_refusal(host)
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_loopback or address.is_link_local or address.is_unspecified:
        return "leads to the proxy itself or its machine"
    return None


def _name_refusal(host: str) -> str | None:
    if host in _OWN_NAMES or host.endswith(".localhost"):
        return "leads to the proxy itself"
    if host.rpartition(".")[2].removeprefix("0x").isdigit():
        return "is an address in disguise"  # 2130706433 is 127.0.0.1 to some resolvers
    return hostnames.refusal(host) if not host.startswith("*") else "is a wildcard"


def _addresses(
    slices: Iterable[endpointslice.EndpointSlice], port_name: str, state: str
) -> Iterator[nodes.Endpoint]:
    for found in slices:
        if found.address_type == "FQDN":
            continue
        numbers = [it.port for it in found.ports if it.name == port_name]  # of TCP or UDP
        for endpoint in found.endpoints:
            if endpoint.addresses and _state(endpoint.conditions) == state:
                for number in numbers:
                    if number is not None:
                        yield nodes.Endpoint(endpoint.addresses[0], number)


def _state(conditions: endpointslice.EndpointConditions) -> Literal["ready", "leaving", "away"]:
    """An absent condition is to be read as true (EndpointSlice API, "conditions")."""
    if conditions.ready is not False:
        return "ready"
    if conditions.serving is not False and conditions.terminating:
        return "leaving"
    return "away"
