"""Which tokens requests have to show, and where the keys are that they are signed with.

A provider that cannot be built closes the routes that name it and no other. Servers of keys are
asked by Envoy itself, so their addresses must not lead to its own machine. Source: HTTPProxy
reference, "JWTProvider", "JWTVerificationPolicy".
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from crds import jwt as crd
from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from dag import nodes
from dag.engine.view import View
from dag.faults import Fault
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.problems.places import Closed, Findings, Place
from dag.references import jwks, upstreamtls
from dag.references.secrets import Refused
from dag.values import addresses, durations, headers

ERROR = "JWTVerificationError"


class Providers(NamedTuple):
    """The providers of a virtual host."""

    built: Mapping[str, nodes.JwtProvider] = {}
    """By the name that routes call them."""
    default: str = ""

    def lack(self, policy: crd.JWTVerificationPolicy | None) -> bool:
        """Whether a route asks for nothing else than the default, and that could not be built."""
        says_nothing = policy is None or not (policy.require or policy.disabled)
        return says_nothing and bool(self.default) and self.default not in self.built

    def required(self, name: str) -> nodes.Jwt | None:
        """The requirement of a route; None if there is no such provider."""
        found = self.built.get(name)
        return nodes.Jwt(found.name) if found is not None else None


NONE = Providers()


def providers(view: View, place: Place, root: HTTPProxy) -> Findings[Providers]:
    """Those that can be built; Closed if it is not clear which one is meant."""
    written = root.spec.virtualhost.jwt_providers if root.spec.virtualhost else ()
    _check_names(place, written)
    built = {}
    for index, provider in enumerate(written):
        at = place.at("jwtProviders", index)
        try:
            built[provider.name] = _provider(view, at.subject.key, provider)
        except Fault as fault:
            yield problems.guard_not_valid(at.at(fault.step), ERROR, fault.reason, fault.text)
    default = next((it.name for it in written if it.default), "")
    return Providers(built, default)


def of_host(found: Providers) -> nodes.Jwt | None:
    """What every route asks for that says nothing else."""
    return found.required(found.default)


def of_route(
    place: Place, policy: crd.JWTVerificationPolicy | None, found: Providers
) -> nodes.Jwt | nodes.Off | None:
    """What a route asks for; Closed if that cannot be."""
    if policy is None or (not policy.require and not policy.disabled):
        return None
    at = place.at("jwtVerificationPolicy")
    if policy.require and policy.disabled:
        text = "require and disabled cannot both be set"
        raise Closed(_error(at, "InvalidJWTVerificationPolicy", text))
    if policy.disabled:
        return nodes.OFF
    required = found.required(policy.require)
    if required is None:
        text = f"there is no provider {policy.require[:60]!r}, or it cannot be served"
        raise Closed(_error(at.at("require"), "JWTProviderNotDefined", text))
    return required


def _check_names(place: Place, written: tuple[crd.JWTProvider, ...]) -> None:
    seen: set[str] = set()
    for index, it in enumerate(written):
        at = place.at("jwtProviders", index)
        if it.name in seen:
            text = f"there are two providers {it.name[:60]!r}"
            raise Closed(_error(at, "DuplicateProviderName", text))
        seen.add(it.name)
    if sum(it.default for it in written) > 1:
        text = "at most one provider can be the default"
        raise Closed(_error(place.at("jwtProviders"), "MultipleDefaultProvidersSpecified", text))


def _error(place: Place, reason: str, text: str) -> Problem:
    return problems.guard_not_valid(place, ERROR, reason, text)


def _provider(view: View, root: NamespacedName, written: crd.JWTProvider) -> nodes.JwtProvider:
    return nodes.JwtProvider(
        name=_qualified(root, written.name),
        jwks=_jwks(view, root.namespace, written),
        issuer=written.issuer,
        audiences=written.audiences,
        forward=written.forward_jwt,
        claim_headers=tuple(_claim_headers(written)),
    )


def _qualified(root: NamespacedName, name: str) -> str:
    return f"{root}/{name}"


def _claim_headers(written: crd.JWTProvider) -> Iterator[tuple[str, str]]:
    for index, it in enumerate(written.claims_to_headers):
        if refusal := headers.request_refusal(it.header):
            step = f"claimsToHeaders[{index}].header"
            raise Fault("ClaimsToHeadersInvalid", step, f"{it.header[:60]!r} {refusal}")
        yield it.claim, it.header.lower()


def _jwks(
    view: View, namespace: str, written: crd.JWTProvider
) -> nodes.RemoteJwks | nodes.LocalJwks:
    if written.remote_jwks is not None:
        return _remote(view, namespace, written.remote_jwks)
    if written.local_jwks is None:  # the model requires one of them
        raise Fault("JWKSSourceMissing", "", "needs one of remoteJWKS and localJWKS")
    secret = NamespacedName(namespace, written.local_jwks.secret_name)
    found = view.ask(jwks.local, jwks.Entry(secret, written.local_jwks.key))
    if isinstance(found, Refused):
        raise Fault("LocalJWKSInvalid", "localJWKS", f"Secret {secret} {found.message}")
    return nodes.LocalJwks(found)


def _remote(view: View, namespace: str, written: crd.RemoteJWKS) -> nodes.RemoteJwks:
    address, is_tls = _address(written.uri)
    if written.validation is not None and not is_tls:
        text = "only a server that is asked by https has a certificate"
        raise Fault("RemoteJWKSUpstreamValidationInvalid", "remoteJWKS.validation", text)
    tls = _tls(view, namespace, written, address.host) if is_tls else None
    cluster = nodes.JwksCluster(address, tls, written.dns_lookup_family)
    timeout = _seconds("Timeout", "timeout", written.timeout)
    cache = _seconds("CacheDuration", "cacheDuration", written.cache_duration)
    return nodes.RemoteJwks(written.uri, cluster, timeout or 1.0, cache)


def _address(uri: str) -> tuple[nodes.DnsAddress, bool]:
    """The server of a URI, and whether it speaks TLS."""
    step = "remoteJWKS.uri"
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Fault("RemoteJWKSURIInvalid", step, f"{uri[:60]!r} is no URI") from None
    if parts.scheme not in ("http", "https"):
        raise Fault("RemoteJWKSSchemeInvalid", step, "the scheme must be http or https")
    if not host or parts.username is not None or not uri.isprintable() or " " in uri:
        raise Fault("RemoteJWKSURIInvalid", step, f"{uri[:60]!r} is no URI of a server")
    if refusal := addresses.refusal(host):
        raise Fault("RemoteJWKSURIInvalid", step, f"{host[:60]!r} {refusal}")
    if port == 0:
        raise Fault("RemoteJWKSPortInvalid", step, "the port must be from 1 to 65535")
    is_tls = parts.scheme == "https"
    return nodes.DnsAddress(host, port or (443 if is_tls else 80)), is_tls


def _tls(view: View, namespace: str, written: crd.RemoteJWKS, host: str) -> nodes.UpstreamTls:
    if written.validation is None:
        return nodes.UpstreamTls(sni=host)
    try:
        return upstreamtls.checked(view, namespace, written.validation, host)
    except Fault as fault:
        reason = {
            upstreamtls.NOT_DELEGATED: "RemoteJWKSCACertificateNotDelegated",
        }.get(fault.reason, "RemoteJWKSUpstreamValidationInvalid")
        raise Fault(reason, f"remoteJWKS.validation.{fault.step}", fault.text) from None


def _seconds(name: str, field: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return durations.seconds(text) or None
    except ValueError as why:
        raise Fault(f"RemoteJWKS{name}Invalid", f"remoteJWKS.{field}", str(why)) from None
