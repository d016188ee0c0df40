"""The Services and certificates that an object of any kind refers to.

For problems of an object because of another one that has no status of its own. References that are
not permitted are left out, since nothing may be disclosed about their targets; they are errors
anyway.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from crds import httpproxy
from crds.contourconfiguration import ContourConfiguration
from crds.endpoints import ObjectName
from crds.envoygateway.backend import Backend, BackendTLSSettings
from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicy
from crds.extensionservice import ExtensionService
from crds.gateway.backendtlspolicy import BackendTLSPolicy, BackendTLSPolicyValidation
from crds.gateway.gateway import Gateway
from crds.gateway.listenerset import ListenerSet
from crds.gateway.xbackend import XBackend
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress, IngressBackend
from crds.meta import NamespacedName, ObjectRef
from crds.upstreamvalidation import UpstreamValidation
from dag import tables
from dag.configuration import settings
from dag.engine.view import View
from dag.gateway import (
    backendcertificate,
    envoybackends,
    listeners,
    routecertificates,
    routes,
    xbackends,
)
from dag.gateway.envoypolicies import clientpolicies
from dag.httpproxy import expansion
from dag.ingress.annotations import CERTIFICATE_NAMESPACE
from dag.references import delegation, trust
from dag.warnings.validity import Held, of_secret

Use = tuple[str, Held]
"""The path of a field, and the certificates that it leads to."""


def services(view: View, subject: ObjectRef) -> tuple[NamespacedName, ...]:
    """The Services that an object leads to, sorted, whether or not they exist."""
    if subject.kind in routes.KINDS:
        leads_to = routes.rules(view, subject).leads_to
        return tuple(it.key for it in leads_to if it.kind == "Service")
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    match found:
        case Ingress():
            names = _of_ingress(found)
        case HTTPProxy():
            names = _of_httpproxy(found)
        case _:
            return ()
    return tuple(sorted({NamespacedName(subject.namespace, it) for it in names}))


def _of_ingress(found: Ingress) -> Iterator[str]:
    backends = [found.spec.default_backend]
    for rule in found.spec.rules:
        backends += [it.backend for it in rule.http.paths] if rule.http is not None else []
    yield from _names(backends)


def _names(backends: Iterable[IngressBackend | None]) -> Iterator[str]:
    for it in backends:
        if it is not None and it.service is not None:
            yield it.service.name


def _of_httpproxy(found: HTTPProxy) -> Iterator[str]:
    for route in found.spec.routes:
        yield from (it.name for it in route.services)
    if found.spec.tcpproxy is not None:
        yield from (it.name for it in found.spec.tcpproxy.services)


def certificates(view: View, subject: ObjectRef) -> Iterator[Use]:
    """The certificates that an object has Envoy serve, or verify others with."""
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    match found:
        case HTTPProxy():
            yield from _certificates_of_httpproxy(view, found)
        case Ingress():
            yield from _certificates_of_ingress(view, found)
        case Gateway() | ListenerSet():
            yield from _certificates_of_listeners(view, subject, found)
        case ExtensionService():
            yield from _authorities(view, subject.namespace, "spec", found.spec.validation)
        case ClientTrafficPolicy():
            yield from _certificates_of_clients(view, found)
        case Backend() | XBackend() | BackendTLSPolicy():
            yield from _certificates_of_backends(view, found)
        case ContourConfiguration():
            yield from _certificates_of_configuration(view, found)
        case _:
            yield from _certificate_of_route(view, subject)


Entry = Literal["tls.crt", "ca.crt"]


def _secret(view: View, own: str, path: str, written: str | None, entry: Entry) -> Iterator[Use]:
    """A Secret by its name, or `namespace/name`, if it may be used."""
    name = delegation.named(written or "", own)
    if name is not None and delegation.is_permitted(view, delegation.Use(name, own)):
        yield path, of_secret(name, entry)


def _certificates_of_httpproxy(view: View, found: HTTPProxy) -> Iterator[Use]:
    own, host = found.metadata.namespace, found.spec.virtualhost
    if host is not None and host.tls is not None:
        path, clients = "spec.virtualhost.tls", host.tls.client_validation
        yield from _secret(view, own, f"{path}.secretName", host.tls.secret_name, "tls.crt")
        if clients is not None:
            at = f"{path}.clientValidation.caSecret"
            yield from _secret(view, own, at, clients.ca_secret, "ca.crt")
    if (secret := fallback(view, found)) is not None:
        yield FALLBACK, of_secret(secret)
    for index, provider in enumerate(host.jwt_providers if host is not None else ()):
        if provider.remote_jwks is not None:
            path = f"spec.virtualhost.jwtProviders[{index}].remoteJWKS"
            yield from _authorities(view, own, path, provider.remote_jwks.validation)
    for path, service in _services_of(found):
        yield from _authorities(view, own, path, service.validation)


FALLBACK = "spec.virtualhost.tls.enableFallbackCertificate"


def fallback(view: View, found: HTTPProxy) -> NamespacedName | None:
    """The certificate that clients get who name no host, where an HTTPProxy serves them, too."""
    tls = found.spec.virtualhost.tls if found.spec.virtualhost is not None else None
    if tls is None or not tls.enable_fallback_certificate:
        return None
    wanted = view.ask(expansion.expansion, found.metadata.key)
    claim = wanted.claim if wanted is not None else None
    if claim is None or not claim.is_fallback:
        return None
    return view.ask(settings.fallback_certificate, ())


def _authorities(
    view: View, own: str, path: str, validation: UpstreamValidation | None
) -> Iterator[Use]:
    if validation is not None:
        at = f"{path}.validation.caSecret"
        yield from _secret(view, own, at, validation.ca_secret, "ca.crt")


def _services_of(found: HTTPProxy) -> Iterator[tuple[str, httpproxy.Service]]:
    for number, route in enumerate(found.spec.routes):
        for index, it in enumerate(route.services):
            yield f"spec.routes[{number}].services[{index}]", it
    if found.spec.tcpproxy is not None:
        for index, it in enumerate(found.spec.tcpproxy.services):
            yield f"spec.tcpproxy.services[{index}]", it


def _certificates_of_ingress(view: View, found: Ingress) -> Iterator[Use]:
    own = found.metadata.namespace
    namespace = found.metadata.annotations.get(CERTIFICATE_NAMESPACE) or own
    for index, it in enumerate(found.spec.tls):
        name = NamespacedName(namespace, it.secret_name)
        if it.secret_name and delegation.is_permitted(view, delegation.Use(name, own)):
            yield f"spec.tls[{index}].secretName", of_secret(name)


def _certificates_of_listeners(
    view: View, subject: ObjectRef, found: Gateway | ListenerSet
) -> Iterator[Use]:
    """The certificates that are served; the others have a condition that says why they are not."""
    clients: set[ObjectRef] = set()
    states = view.ask(listeners.states, subject)
    for index, (listener, state) in enumerate(zip(found.spec.listeners, states, strict=False)):
        references = listener.tls.certificate_refs if listener.tls is not None else ()
        for number, it in enumerate(references):
            name = NamespacedName(it.namespace or subject.namespace, it.name)
            if name in state.secrets:
                at = f"spec.listeners[{index}].tls.certificateRefs[{number}]"
                yield at, of_secret(name)
        if state.clients is not None and state.clients.trust is not None:
            clients.update(state.clients.trust.authorities)
    if isinstance(found, Gateway):
        yield from (("spec.tls.frontend", Held(it, "ca.crt")) for it in sorted(clients))
        secret = view.ask(backendcertificate.secret, subject.key)
        if secret is not None:
            yield "spec.tls.backend.clientCertificateRef", of_secret(secret)


def of_listener(state: listeners.ListenerState) -> Iterator[ObjectRef]:
    """The objects with the certificates of a listener, and with the authorities of its clients."""
    yield from (ObjectRef("Secret", *it) for it in state.secrets)
    if state.clients is not None and state.clients.trust is not None:
        yield from state.clients.trust.authorities


def _certificates_of_clients(view: View, found: ClientTrafficPolicy) -> Iterator[Use]:
    """The authorities that clients are checked against, where the policy does not close its
    listeners."""
    clients = clientpolicies.EFFECTS.of(view, found.metadata.key).tls.clients
    written = found.spec.tls.client_validation if found.spec.tls is not None else None
    if clients is None or clients.trust is None or written is None:
        return
    for index, it in enumerate(written.ca_certificate_refs):
        name = NamespacedName(it.namespace or found.metadata.namespace, it.name)
        ref = trust.named(it.kind, name)
        if ref in clients.trust.authorities:
            yield f"spec.tls.clientValidation.caCertificateRefs[{index}]", Held(ref, "ca.crt")


def _certificates_of_backends(
    view: View, found: Backend | XBackend | BackendTLSPolicy
) -> Iterator[Use]:
    """The authorities that backends are checked against, and the certificate that is shown to
    them, where the backend is served."""
    key = found.metadata.key
    written: BackendTLSSettings | BackendTLSPolicyValidation | None
    match found:
        case BackendTLSPolicy():
            yield from _authorities_at(view, key, "spec.validation", found.spec.validation)
            return
        case Backend():
            tls = view.ask(envoybackends.wanted, key).tls
            path, written = "spec.tls", found.spec.tls
        case XBackend():
            tls = view.ask(xbackends.wanted, key).tls
            path = "spec.tls.validation"
            written = found.spec.tls.validation if found.spec.tls is not None else None
    if tls is None or written is None:
        return
    known = tls.trust.authorities if tls.trust is not None else ()
    uses = _authorities_at(view, key, path, written)
    yield from (it for it in uses if it[1].ref in known)
    if tls.client_certificate is not None:
        yield "spec.tls.clientCertificateRef", of_secret(tls.client_certificate)


def _authorities_at(
    view: View,
    key: NamespacedName,
    path: str,
    written: BackendTLSSettings | BackendTLSPolicyValidation,
) -> Iterator[Use]:
    for index, it in enumerate(written.ca_certificate_refs):
        if trust.kind_refusal(view, it.group, it.kind) is None:
            ref = trust.named(it.kind, NamespacedName(key.namespace, it.name))
            yield f"{path}.caCertificateRefs[{index}]", Held(ref, "ca.crt")


def _certificate_of_route(view: View, subject: ObjectRef) -> Iterator[Use]:
    secret = (
        view.ask(routecertificates.brought, subject.key) if subject.kind == "HTTPRoute" else None
    )
    if secret is not None:
        yield f"metadata.annotations[{routecertificates.ANNOTATION}]", of_secret(secret)


def _certificates_of_configuration(view: View, found: ContourConfiguration) -> Iterator[Use]:
    if view.ask(settings.chosen_configuration, ()) != found:
        return
    envoy, proxies = found.spec.envoy, found.spec.httpproxy
    named: tuple[tuple[str, ObjectName | None], ...] = (
        ("spec.envoy.clientCertificate", envoy.client_certificate if envoy else None),
        ("spec.httpproxy.fallbackCertificate", proxies.fallback_certificate if proxies else None),
    )
    for path, it in named:
        if it is not None:
            yield path, of_secret(NamespacedName(it.namespace, it.name))
