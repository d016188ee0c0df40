"""XBackends: a host name outside the cluster, a port, and the protocol and TLS to use there.

Experimental (v1.7). Whoever may write one can make Envoy connect to any name, as with a Service of
type ExternalName; so it is refused unless the configuration allows these. What an XBackend asks for
is never weakened: if a part of it cannot be met, it gets no requests. A pod selector is not served,
for we read no pods. Elsewhere: references to it (`backends`), its status (`policystatus`).
"""

from typing import Final

from crds.gateway.known import unknown_values
from crds.gateway.xbackend import BackendTLS, XBackend
from crds.meta import NamespacedName
from crds.records import dataclass, replace
from dag import nodes, tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.gateway import certificates, policies
from dag.problems import Problem
from dag.problems import gateway as shared
from dag.problems import xbackends as problems
from dag.problems.places import Findings, Place, gathered
from dag.values import addresses

KIND: Final = "XBackend"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an XBackend asks for, and what is wrong with it."""

    port: nodes.ServicePort | None
    """None: it gets no requests."""
    dns: nodes.DnsAddress | None = None
    protocol: str = ""
    """The protocol, as it is written; empty if the kind of the route decides it."""
    tls: nodes.UpstreamTls | None = None
    problems: tuple[Problem, ...] = ()


CLOSED = Wanted(None)


@query
def wanted(view: View, key: NamespacedName) -> Wanted:
    """What an XBackend asks for; closed if it is not there."""
    found = view.read(tables.XBACKENDS, key)
    if found is None:
        return CLOSED
    own = problems.backend(key)
    strange = tuple(
        problems.value_not_valid(Place(own.subject, it.path), it.message)
        for it in unknown_values(found)
    )
    address, told = gathered(_address(view, found, own))
    tls, more = gathered(_tls(view, found.spec.tls, own.at("tls")))
    told = (*strange, *told, *more)
    if strange or address is None or tls is None:
        return replace(CLOSED, problems=told)
    port = nodes.ServicePort(key, address.port, kind=KIND)
    return Wanted(port, address, found.spec.protocol or "", tls.tls, told)


def _address(view: View, found: XBackend, own: Place) -> Findings[nodes.DnsAddress | None]:
    spec = found.spec
    if spec.protocol == "MCP":
        yield problems.value_not_supported(own.at("protocol"), "MCP is not served")
        return None
    if spec.port.number is None:
        yield problems.value_not_valid(own.at("port").at("number"), "must be set")
        return None
    if spec.external_hostname is None:
        why = "EndpointSelector is not served; refer to a Service with the same selector instead"
        yield problems.value_not_supported(own.at("type"), why)
        return None
    if not view.ask(settings.external_names, ()):
        why = "ExternalHostname needs enableExternalNameService: true in the ContourConfiguration"
        yield problems.value_not_supported(own.at("type"), why)
        return None
    host = spec.external_hostname.hostname
    if refusal := _refusal(host):
        at = own.at("externalHostname").at("hostname")
        yield problems.value_not_valid(at, f"{host!r} {refusal}")
        return None
    return nodes.DnsAddress(host, spec.port.number)


def _refusal(host: str) -> str | None:
    """Why Envoy must not connect to a name, as the end of a sentence; None if it may."""
    if addresses.of_family(host, "IPv4") is not None:
        return "is an IP address"
    return addresses.refusal(host)


@dataclass(frozen=True, slots=True)
class _Terms:
    """How TLS is spoken; without `tls`, no TLS."""

    tls: nodes.UpstreamTls | None = None


def _tls(view: View, asked: BackendTLS | None, at: Place) -> Findings[_Terms | None]:
    """None if it cannot be met."""
    if asked is None or asked.validation is None:
        return _Terms()
    validated = policies.validated(view, asked.validation, at.at("validation"))
    yield from validated.problems
    certificate = yield from _certificate(view, asked, at)
    if validated.tls is None or isinstance(certificate, Problem):
        return None
    return _Terms(replace(validated.tls, client_certificate=certificate))


def _certificate(
    view: View, asked: BackendTLS, at: Place
) -> Findings[NamespacedName | Problem | None]:
    """The Secret with the certificate that is shown, if one is asked for."""
    if asked.client_certificate_ref is None:
        return None
    place = at.at("clientCertificateRef")
    found = certificates.secret(view, asked.client_certificate_ref, place)
    if isinstance(found, Problem):
        found = shared.client_certificate(found)
        yield found
    return found


def cluster(view: View, key: NamespacedName, at: Place) -> nodes.Cluster | Problem:
    """What a permitted reference to an XBackend leads to, or why it leads nowhere."""
    if view.read(tables.XBACKENDS, key) is None:
        return shared.backend_not_found(at, f"{KIND} {key} not found")
    asked = view.ask(wanted, key)
    if asked.port is None:
        return shared.backend_not_found(at, f"{KIND} {key} cannot be served; its status says why")
    if why := _mismatch(asked.protocol, at.subject.kind):
        return shared.backend_protocol_not_supported(at, f"{KIND} {key} {why}")
    spoken = _spoken(asked, at.subject.kind)
    return nodes.Cluster(asked.port, asked.dns, spoken, tls=asked.tls)


_STREAMS = frozenset({"TLSRoute", "TCPRoute"})
_HTTP2 = frozenset({"HTTP2", "H2C", "GRPC"})
_HTTP1 = frozenset({"HTTP11", "WSS"})


def _mismatch(protocol: str, route: str) -> str:
    """Why a kind of route cannot lead to a backend with this protocol; empty if it can."""
    if route == "UDPRoute":
        return "takes no datagrams"
    if protocol == "TCP" and route not in _STREAMS:
        return "speaks TCP, and requests need HTTP"
    if route == "GRPCRoute" and protocol in _HTTP1:
        return "speaks HTTP/1.1, and gRPC needs HTTP/2"
    return ""


def _spoken(asked: Wanted, route: str) -> nodes.UpstreamProtocol:
    if route in _STREAMS:
        return "http/1.1"
    if route == "GRPCRoute" or asked.protocol in _HTTP2:
        return "h2c" if asked.tls is None else "h2"
    return "http/1.1" if asked.tls is None else "tls"
