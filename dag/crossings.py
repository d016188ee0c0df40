"""Permitted uses of objects in other namespaces, for an audit: who uses what, and by which grant.

A ReferenceGrant or a TLSCertificateDelegation permits it; the answer names each of those that do.
Includes of HTTPProxies and references to ExtensionServices need no permission, so they are not
here. Only objects that refer to another namespace at all have an answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from crds import httpproxy
from crds.envoygateway.backend import Backend
from crds.envoygateway.clienttls import ClientAuthority, RevocationList
from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicy
from crds.envoygateway.httproutefilter import HTTPRouteFilter
from crds.envoygateway.policycredentials import SecretReference
from crds.envoygateway.policytargets import UnreadPolicy
from crds.envoygateway.securitypolicy import SecurityPolicy
from crds.extensionservice import ExtensionService
from crds.gateway.gateway import Gateway
from crds.gateway.listenerset import ListenerSet
from crds.gateway.references import BackendObjectReference
from crds.gateway.telemetrypolicy import XTelemetryPolicy
from crds.gateway.xbackend import XBackend
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress
from crds.meta import NamespacedName, ObjectRef
from dag import statuses, tables
from dag.engine.view import Index, Kept, Query, View, query
from dag.gateway import filteruses
from dag.ingress.annotations import CERTIFICATE_NAMESPACE
from dag.references import delegation, grants
from dag.statuses import Status


class CrossNamespaceReference(NamedTuple):
    """A reference into another namespace, whether permitted or not."""

    field: str
    target: ObjectRef


class Crossing(NamedTuple):
    """A cross-namespace reference that is permitted."""

    field: str
    target: ObjectRef
    permitted_by: tuple[ObjectRef, ...]
    """ReferenceGrants, or TLSCertificateDelegations; sorted."""


Wishes = Iterator[tuple[str, ObjectRef | None]]
Told: TypeAlias = Mapping[str, Query[NamespacedName, Status | None]]
"""The query for the status of an object, by kind."""


def _of_httpproxy(found: HTTPProxy) -> Wishes:
    own = found.metadata.namespace
    if (host := found.spec.virtualhost) is not None:
        if (tls := host.tls) is not None:
            yield "virtualhost.tls.secretName", _secret(tls.secret_name, own)
            if (clients := tls.client_validation) is not None:
                at = "virtualhost.tls.clientValidation"
                yield f"{at}.caSecret", _secret(clients.ca_secret, own)
                yield f"{at}.crlSecret", _secret(clients.crl_secret, own)
        for index, provider in enumerate(host.jwt_providers):
            at = f"virtualhost.jwtProviders[{index}].remoteJWKS"
            yield from _validated(at, provider.remote_jwks, own)
    for index, route in enumerate(found.spec.routes):
        yield from _services(f"routes[{index}]", route.services, own)
    if found.spec.tcpproxy is not None:
        yield from _services("tcpproxy", found.spec.tcpproxy.services, own)


def _services(at: str, services: Iterable[httpproxy.Service], own: str) -> Wishes:
    for index, it in enumerate(services):
        yield from _validated(f"{at}.services[{index}]", it, own)


def _validated(at: str, found: Any, own: str) -> Wishes:
    """The reference to the authority of an upstream's certificate, if that is verified."""
    if found is not None and found.validation is not None:
        yield f"{at}.validation.caSecret", _secret(found.validation.ca_secret, own)


def _of_extension_service(found: ExtensionService) -> Wishes:
    if (validation := found.spec.validation) is not None:
        yield "validation.caSecret", _secret(validation.ca_secret, found.metadata.namespace)


def _of_ingress(found: Ingress) -> Wishes:
    elsewhere = found.metadata.annotations.get(CERTIFICATE_NAMESPACE)
    for index, it in enumerate(found.spec.tls if elsewhere else ()):
        if it.secret_name:
            yield f"tls[{index}].secretName", ObjectRef("Secret", elsewhere or "", it.secret_name)


def _of_route(found: Any) -> Wishes:
    for index, rule in enumerate(found.spec.rules):
        at = f"rules[{index}]"
        yield from _filtered(at, rule, found)
        for number, it in enumerate(rule.backend_refs):
            yield f"{at}.backendRefs[{number}]", _object(it, found)
            yield from _filtered(f"{at}.backendRefs[{number}]", it, found)


def _filtered(at: str, holder: Any, found: Any) -> Wishes:
    for index, it in enumerate(getattr(holder, "filters", ())):
        for name, field in (("request_mirror", "requestMirror"), ("external_auth", "externalAuth")):
            if (asked := getattr(it, name, None)) is not None:
                yield f"{at}.filters[{index}].{field}.backendRef", _object(asked.backend_ref, found)


def _of_gateway(found: Gateway) -> Wishes:
    yield from _of_listeners(found)
    if (tls := found.spec.tls) is None:
        return
    if tls.backend is not None and tls.backend.client_certificate_ref is not None:
        yield "tls.backend.clientCertificateRef", _object(tls.backend.client_certificate_ref, found)
    if (frontend := tls.frontend) is not None:
        asked = [("default", frontend.default)]
        asked += [(f"perPort[{it}]", port.tls) for it, port in enumerate(frontend.per_port)]
        for place, wanted in asked:
            refs = wanted.validation.ca_certificate_refs if wanted.validation else ()
            for index, it in enumerate(refs):
                at = f"tls.frontend.{place}.validation.caCertificateRefs[{index}]"
                yield at, _object(it, found)


def _of_listeners(found: Gateway | ListenerSet) -> Wishes:
    for index, listener in enumerate(found.spec.listeners):
        references = listener.tls.certificate_refs if listener.tls is not None else ()
        for number, it in enumerate(references):
            yield f"listeners[{index}].tls.certificateRefs[{number}]", _object(it, found)
        for number, asked in enumerate(listener.filters.requests if listener.filters else ()):
            if asked.external_auth is not None:
                at = f"listeners[{index}].filters.requests[{number}].externalAuth.backendRef"
                yield at, _object(asked.external_auth.backend_ref, found)


def _of_telemetry_policy(found: XTelemetryPolicy) -> Wishes:
    tracing = found.spec.tracing
    if tracing is not None and tracing.provider is not None:
        yield "tracing.provider.backendRef", _object(tracing.provider.backend_ref, found)


def _of_security_policy(found: SecurityPolicy | UnreadPolicy) -> Wishes:
    if isinstance(found, UnreadPolicy):
        return
    spec = found.spec
    if (asked := spec.ext_auth) is not None:
        for name, server in (("grpc", asked.grpc), ("http", asked.http)):
            if server is not None:
                yield from _referring(f"extAuth.{name}.backendRefs", server.backend_refs, found)
                if (one := server.backend_ref) is not None:
                    yield f"extAuth.{name}.backendRef", _object(one, found)
    if spec.api_key_auth is not None:
        refs = spec.api_key_auth.credential_refs
        yield from _referring("apiKeyAuth.credentialRefs", refs, found)
    if spec.basic_auth is not None:
        yield "basicAuth.users", _object(spec.basic_auth.users, found)
    if (login := spec.oidc) is not None:
        yield "oidc.clientSecret", _object(login.client_secret, found)
        if login.client_id_ref is not None:
            yield "oidc.clientIDRef", _object(login.client_id_ref, found)
        yield from _referring("oidc.provider.backendRefs", login.provider.backend_refs, found)


def _of_client_policy(found: ClientTrafficPolicy | UnreadPolicy) -> Wishes:
    if isinstance(found, UnreadPolicy) or found.spec.tls is None:
        return
    asked = found.spec.tls.client_validation
    if asked is not None:
        at = "tls.clientValidation"
        yield from _referring(f"{at}.caCertificateRefs", asked.ca_certificate_refs, found)
        if asked.crl is not None:
            yield from _referring(f"{at}.crl.refs", asked.crl.refs, found)


def _of_route_filter(found: HTTPRouteFilter) -> Wishes:
    if (asked := found.spec.credential_injection) is not None:
        at = "credentialInjection.credential.valueRef"
        yield at, _object(asked.credential.value_ref, found)


_Reference: TypeAlias = BackendObjectReference | SecretReference | ClientAuthority | RevocationList


def _referring(
    at: str, references: Sequence[_Reference], found: SecurityPolicy | ClientTrafficPolicy
) -> Wishes:
    for index, it in enumerate(references):
        yield f"{at}[{index}]", _object(it, found)


def _of_xbackend(found: XBackend) -> Wishes:
    tls = found.spec.tls
    if tls is not None and tls.client_certificate_ref is not None:
        yield "tls.clientCertificateRef", _object(tls.client_certificate_ref, found)


def _of_backend(found: Backend) -> Wishes:
    tls = found.spec.tls
    if tls is not None and tls.client_certificate_ref is not None:
        yield "tls.clientCertificateRef", _object(tls.client_certificate_ref, found)


def _object(it: Any, found: Any) -> ObjectRef | None:
    return ObjectRef(it.kind, it.namespace, it.name) if it.namespace else None


def _secret(written: str | None, own: str) -> ObjectRef | None:
    if not written or "/" not in written:
        return None
    found = delegation.named(written, own)  # if it is no name, the rules tell
    return ObjectRef("Secret", *found) if found is not None else None


_READERS: Mapping[str, Callable[[Any], Wishes]] = {
    "HTTPProxy": _of_httpproxy,
    "ExtensionService": _of_extension_service,
    "Ingress": _of_ingress,
    "Gateway": _of_gateway,
    "ListenerSet": _of_listeners,
    "HTTPRoute": _of_route,
    "GRPCRoute": _of_route,
    "TLSRoute": _of_route,
    "TCPRoute": _of_route,
    "UDPRoute": _of_route,
    "XTelemetryPolicy": _of_telemetry_policy,
    "SecurityPolicy": _of_security_policy,
    "ClientTrafficPolicy": _of_client_policy,
    "HTTPRouteFilter": _of_route_filter,
    "XBackend": _of_xbackend,
    "Backend": _of_backend,
}
_BY_DELEGATION = frozenset({"HTTPProxy", "ExtensionService", "Ingress"})


def _index(
    kind: str, read: Callable[[Any], Wishes]
) -> Index[NamespacedName, CrossNamespaceReference]:
    def entries(
        key: NamespacedName, found: Any
    ) -> Iterator[tuple[NamespacedName, CrossNamespaceReference]]:
        for field, target in read(found):
            if target is not None and target.namespace != key.namespace:
                yield key, CrossNamespaceReference(f"spec.{field}", target)

    return Index(f"references of {kind} into other namespaces", tables.BY_KIND[kind], entries)


_WISHES = {kind: _index(kind, read) for kind, read in _READERS.items()}


IsOurs = Callable[[View, NamespacedName], bool]
"""Whether an object is for this controller."""


def _crossings(kind: str, is_ours: IsOurs) -> Query[NamespacedName, tuple[Crossing, ...] | None]:
    def crossings(view: View, key: NamespacedName) -> tuple[Crossing, ...] | None:
        """What an object for this controller uses of other namespaces; None if nothing."""
        wishes = view.bucket(_WISHES[kind], key)
        if not wishes or not is_ours(view, key):
            return None
        found = [
            Crossing(*it, permitted)
            for it in sorted(wishes)
            if (permitted := _permissions(view, ObjectRef(kind, *key), it.target))
        ]
        return tuple(found) or None

    crossings.__name__ = f"crossings_of_{kind}"
    return query(crossings)


def _told(status: Query[NamespacedName, Status | None]) -> IsOurs:
    """An object is for this controller if it gets a status from it."""
    return lambda view, key: _is_ours(view.ask(status, key))


def _named_by_routes(told: Told) -> IsOurs:
    """An object without a status is ours if a route of ours names it in a filter."""

    def is_ours(view: View, key: NamespacedName) -> bool:
        routes = sorted(view.bucket(filteruses.REWRITING, key))
        return any(_is_ours(view.ask(told[it.kind], it.key)) for it in routes)

    return is_ours


def _is_ours(found: Status | None) -> bool:
    return bool(found.parents) if isinstance(found, statuses.RouteStatus) else found is not None


def _permissions(view: View, who: ObjectRef, target: ObjectRef) -> tuple[ObjectRef, ...]:
    """The grants or delegations that permit a reference; empty if none does."""
    if who.kind in _BY_DELEGATION:
        uses = (delegation.Use(target.key, it) for it in (delegation.EVERY, who.namespace))
        keys = {it for use in uses for it in view.bucket(delegation.DELEGATED, use)}
        return tuple(sorted(ObjectRef("TLSCertificateDelegation", *it) for it in keys))
    referrer, named = grants.referrer(who), grants.backend(target)
    wanted = ((referrer, named), (referrer, named._replace(name="")))
    keys = {it for granted in wanted for it in view.bucket(grants.GRANTED, granted)}
    return tuple(sorted(ObjectRef("ReferenceGrant", *it) for it in keys))


def queries(told: Told) -> Mapping[str, Query[NamespacedName, tuple[Crossing, ...] | None]]:
    """The queries, by kind; `told` has the status queries."""
    return {
        kind: _crossings(kind, _told(told[kind]) if kind in told else _named_by_routes(told))
        for kind in _READERS
    }


def kept(of: Mapping[str, Query[NamespacedName, Any]]) -> tuple[Kept, ...]:
    """For every object that refers to another namespace."""
    return tuple(Kept(query, _WISHES[kind]) for kind, query in of.items())


INDEXES = tuple(_WISHES.values())
