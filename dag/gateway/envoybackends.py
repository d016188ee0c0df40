"""What a Backend of Envoy Gateway asks for: how its endpoints are spoken to, and for whom.

Served if the configuration allows it (`settings.backends`); otherwise closed, and reported. What a
Backend asks for is never weakened: if a part of it cannot be met, it gets no requests. A
BackendTLSPolicy for it says which authorities and names are valid; for other settings the Backend
counts. A dynamic resolver is not served: clients would choose where Envoy connects to. Elsewhere:
where the endpoints are (`backendaddresses`), fallbacks (`failover`).
"""

from typing import Final

from crds.envoygateway import backend as crd
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from crds.unserved import unserved
from dag import backendaddresses, nodes, tables
from dag.backendaddresses import Located
from dag.configuration import settings
from dag.configuration.edges import CURVES
from dag.engine.view import View, query
from dag.gateway import certificates, policies, tlsvalues
from dag.problems import Problem, shared
from dag.problems import backends as problems
from dag.problems import gateway as complaints
from dag.problems.places import Findings, Place, gathered
from dag.problems.reasons import ConditionType

KIND: Final = "Backend"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a Backend asks for, and what is wrong with it."""

    port: nodes.ServicePort | None
    """None: it gets no requests."""
    located: Located = backendaddresses.NOWHERE
    protocols: tuple[str, ...] = ()
    tls: nodes.UpstreamTls | None = None
    """Without a server name, if that depends on who refers to it."""
    has_tls_policy: bool = False
    """A BackendTLSPolicy says whom to trust."""
    offers: tuple[str, ...] = ()
    """The protocols offered by ALPN, if the Backend names any."""
    is_fallback: bool = False
    problems: tuple[Problem, ...] = ()


CLOSED = Wanted(None)


@query
def wanted(view: View, key: NamespacedName) -> Wanted:
    """What a Backend asks for; closed if it is not there."""
    found = view.read(tables.BACKENDS, key)
    if found is None:
        return CLOSED
    made, told = gathered(_wanted(view, key, found))
    told = tuple(replace(it, type=ConditionType.Accepted) for it in told)
    is_closed = any(it.severity == "error" for it in told)
    return replace(CLOSED if made is None or is_closed else made, problems=told)


@query
def is_fallback(view: View, key: NamespacedName) -> bool:
    """Whether a Backend is a fallback for others; a query, for routes that need only this of it."""
    return view.ask(wanted, key).is_fallback


def _wanted(view: View, key: NamespacedName, found: crd.Backend) -> Findings[Wanted | None]:
    own, spec = problems.backend(key), found.spec
    if not view.ask(settings.backends, ()):
        text = "a Backend needs enableBackend: true in the ContourConfiguration"
        yield problems.value_not_supported(own, text)
        return None
    yield from _unread(found, own)
    if spec.type == "DynamicResolver":
        return None
    located = view.ask(backendaddresses.located, key)
    yield from located.problems
    if not located.endpoints:
        return None
    port = nodes.ServicePort(key, located.endpoints[0].port, kind=KIND)
    policy = policies.towards(view, target(key, located))
    tls = yield from _tls(view, spec.tls, policy, own.at("tls"))
    if crd.SECURE_WEBSOCKETS in spec.app_protocols and tls is None:
        why = f"{crd.SECURE_WEBSOCKETS} needs tls"
        yield problems.value_not_valid(own.at("appProtocols"), why)
    offers = yield from _offers(spec.tls, own.at("tls"))
    return Wanted(
        port,
        located,
        spec.app_protocols,
        tls,
        has_tls_policy=policy is not None,
        offers=offers,
        is_fallback=bool(spec.fallback),
    )


def target(key: NamespacedName, located: Located) -> policies.Target:
    """The target by which a BackendTLSPolicy names a Backend: with its port, if it has only one."""
    ports = {it.port for it in located.endpoints}
    return policies.Target(key, str(min(ports)) if len(ports) == 1 else "", KIND)


def _unread(found: crd.Backend, own: Place) -> Findings[None]:
    for field in unserved(found):
        place = Place(own.subject, field.path)
        is_harmless = not field.guards and field.path != f"{own.path}.type"
        made = shared.no_effect if is_harmless else problems.value_not_supported
        yield made(place, field.why if is_harmless else f"is {field.why}")
    for value in unknown_values(found):
        yield problems.value_not_valid(Place(own.subject, value.path), value.message)


def _tls(
    view: View,
    asked: crd.BackendTLSSettings | None,
    policy: nodes.UpstreamTls | Problem | None,
    at: Place,
) -> Findings[nodes.UpstreamTls | None]:
    """How TLS is spoken; None: without TLS, or it cannot be met, which is reported."""
    if isinstance(policy, Problem):
        yield problems.value_not_valid(Place(at.subject), policy.message)
        return None
    if asked is None:
        return policy
    terms = policy
    if terms is None:
        terms = yield from _trusted(view, asked, at)
    certificate = yield from _certificate(view, asked, at)
    minimum = yield from tlsvalues.version(asked.min_version, at.at("minVersion"))
    maximum = yield from tlsvalues.version(asked.max_version, at.at("maxVersion"))
    return replace(
        terms,
        client_certificate=certificate,
        minimum=minimum,
        maximum=maximum,
        ciphers=(yield from tlsvalues.ciphers(asked.ciphers, at.at("ciphers"))),
        curves=(yield from tlsvalues.known(asked.ecdh_curves, CURVES, at.at("ecdhCurves"))),
    )


def _trusted(view: View, asked: crd.BackendTLSSettings, at: Place) -> Findings[nodes.UpstreamTls]:
    """TLS with the authorities that the Backend trusts, and the server name that it asks for."""
    sni = asked.sni or ""
    named = nodes.UpstreamTls(sni=sni, sni_of="" if sni else "request")
    if asked.auto_sni_from_endpoint_hostname:
        named = replace(named, sni_of="endpoint")
    if asked.insecure_skip_verify:
        return named
    known = asked.well_known_ca_certificates
    if known is None and not asked.ca_certificate_refs:
        why = "needs caCertificateRefs, wellKnownCACertificates or insecureSkipVerify: true"
        yield problems.value_not_valid(at, why)
        return named
    found = policies.trusted(view, asked.ca_certificate_refs, known, at)
    authorities = tuple(sorted({it for it in found if isinstance(it, ObjectRef)}))
    told = (it for it in found if isinstance(it, Problem))
    yield from (replace(it, severity="warning") for it in told) if authorities else told
    return replace(
        named,
        trust=nodes.Trust(authorities) if authorities else None,
        system=not authorities,
        names=(nodes.AlternativeName("DNS", sni),) if sni else (),
    )


def _certificate(
    view: View, asked: crd.BackendTLSSettings, at: Place
) -> Findings[NamespacedName | None]:
    if asked.client_certificate_ref is None:
        return None
    place = at.at("clientCertificateRef")
    found = certificates.secret(view, asked.client_certificate_ref, place)
    if isinstance(found, Problem):
        yield complaints.client_certificate(found)
        return None
    return found


_ALPN = ("h2", "http/1.1")


def _offers(asked: crd.BackendTLSSettings | None, at: Place) -> Findings[tuple[str, ...]]:
    given, field = asked.alpn_protocols if asked is not None else None, at.at("alpnProtocols")
    if given == ():
        yield shared.no_effect(field, "for requests Envoy always offers what it is about to speak")
    return (yield from tlsvalues.known(given or (), _ALPN, field))


def cluster(view: View, key: NamespacedName, at: Place) -> nodes.Cluster | Problem:
    """What a permitted reference to a Backend leads to, or why it leads nowhere."""
    if view.read(tables.BACKENDS, key) is None:
        return complaints.backend_not_found(at, f"{KIND} {key} not found")
    asked = view.ask(wanted, key)
    if asked.port is None:
        return complaints.backend_not_found(
            at, f"{KIND} {key} cannot be served; its status says why"
        )
    if why := _mismatch(asked, at):
        return complaints.backend_protocol_not_supported(at, f"{KIND} {key} {why}")
    found = _located(asked, asked.port)
    kind = at.subject.kind
    is_http2 = kind == "GRPCRoute" or crd.H2C in asked.protocols or asked.offers == ("h2",)
    if kind in _STREAMS:
        return replace(found, tls=_of_stream(asked, at))
    if asked.tls is None:
        return replace(found, protocol="h2c" if is_http2 else "http/1.1")
    return replace(
        found,
        protocol="h2" if is_http2 else "tls",
        tls=_named(asked, at),
        prefers_http2=not is_http2 and set(asked.offers) == set(_ALPN),
    )


def _of_stream(asked: Wanted, at: Place) -> nodes.UpstreamTls | None:
    """TLS of a stream, which offers by ALPN what the Backend says, and otherwise nothing."""
    found = _named(asked, at)
    return replace(found, offers=asked.offers) if found is not None else None


def _located(asked: Wanted, port: nodes.ServicePort) -> nodes.Cluster:
    if not asked.located.by_dns:
        return nodes.Cluster(port)
    first, *others = asked.located.endpoints
    dns = nodes.DnsAddress(first.address, first.port)
    if not others and not first.hostname:
        return nodes.Cluster(port, dns)
    return nodes.Cluster(port, dns, members=(nodes.Member(port, asked.located.endpoints),))


_STREAMS = frozenset({"TLSRoute", "TCPRoute", "UDPRoute"})


def _mismatch(asked: Wanted, at: Place) -> str:
    """Why this kind of reference cannot lead to the Backend; empty if it can."""
    kind, is_plain = at.subject.kind, asked.tls is None
    if kind == "UDPRoute" and not (is_plain and _are_addresses(asked.located)):
        return "takes no datagrams: it needs addresses, and no tls"
    if kind == "GRPCRoute" and asked.protocols and crd.H2C not in asked.protocols:
        return "speaks WebSockets, and gRPC needs HTTP/2"
    if _asks_endpoint(asked, at) and _is_checked(asked.tls) and not all(_names(asked)):
        return "needs tls.sni: there is no host of a request whose name a certificate could have"
    return ""


def _are_addresses(found: Located) -> bool:
    return not found.by_dns and all(it.port for it in found.endpoints)


def _is_checked(tls: nodes.UpstreamTls | None) -> bool:
    return tls is not None and (tls.trust is not None or tls.system)


def _asks_endpoint(asked: Wanted, at: Place) -> bool:
    """Whether TLS uses the endpoint's name: by its setting, or because requests have no host."""
    tls = asked.tls
    if tls is None or not tls.sni_of:
        return False
    is_of_requests = at.subject.kind in {"HTTPRoute", "GRPCRoute"} and ".filters[" not in at.path
    return tls.sni_of == "endpoint" or not is_of_requests


def _names(asked: Wanted) -> list[str]:
    """The name of each endpoint; empty for an address without one."""
    by_dns = asked.located.by_dns
    named = (it.hostname or (it.address if by_dns else "") for it in asked.located.endpoints)
    return [it.removesuffix(".") for it in named]


def _named(asked: Wanted, at: Place) -> nodes.UpstreamTls | None:
    """TLS with its server name, which certificates must have if they are checked."""
    if asked.tls is None or not _asks_endpoint(asked, at):
        return asked.tls
    names = sorted({*_names(asked)} - {""}) if _is_checked(asked.tls) else ()
    alternatives = tuple(nodes.AlternativeName("DNS", it) for it in names)
    return replace(asked.tls, names=alternatives, sni_of="endpoint")


def is_for_websockets(view: View, key: NamespacedName) -> bool:
    """Whether requests to a Backend may switch to WebSockets."""
    spoken = view.ask(wanted, key).protocols
    return crd.WEBSOCKETS in spoken or crd.SECURE_WEBSOCKETS in spoken
