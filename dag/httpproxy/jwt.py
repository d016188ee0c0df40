"""Tokens (JWTs) that requests need, and the keys that these are verified with.

A provider that cannot be built closes the routes that name it and no other; so does one whose keys
could not be fetched yet. Servers of keys are asked by the control plane, so their addresses must
not lead to its own machine. Source: HTTPProxy reference, "JWTProvider", "JWTVerificationPolicy".
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crds import jwt as crd
from crds.httpproxy import HTTPProxy
from crds.meta import ObjectRef
from dag import nodes
from dag.engine.view import View
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.problems.shared import Constructor
from dag.references import jwks, keysets, upstreamtls
from dag.values import durations, headers, uris


class Providers(NamedTuple):
    """The providers of a virtual host."""

    built: Mapping[str, nodes.JwtProvider] = {}
    """By name, as routes refer to them."""
    default: str = ""

    def lack(self, policy: crd.JWTVerificationPolicy | None) -> bool:
        """Whether a route uses the default provider, and that could not be built."""
        says_nothing = policy is None or not (policy.require or policy.disabled)
        return says_nothing and bool(self.default) and self.default not in self.built

    def required(self, name: str) -> nodes.Jwt | None:
        """The requirement of a route; None if there is no such provider."""
        found = self.built.get(name)
        return nodes.Jwt(found.name) if found is not None else None


NONE = Providers()


def providers(view: View, place: Place, root: HTTPProxy) -> Findings[Providers]:
    """The providers that can be built; Refused if their names or the default are ambiguous."""
    written = root.spec.virtualhost.jwt_providers if root.spec.virtualhost else ()
    _check_names(place, written)
    built = {}
    for index, provider in enumerate(written):
        at = place.at("jwtProviders", index)
        try:
            built[provider.name] = yield from _provider(view, at, provider)
        except Refused as refused:
            yield refused.problem
    default = next((it.name for it in written if it.default), "")
    return Providers(built, default)


def of_host(found: Providers) -> nodes.Jwt | None:
    """The tokens of routes that do not say otherwise."""
    return found.required(found.default)


def of_route(
    place: Place, policy: crd.JWTVerificationPolicy | None, found: Providers
) -> nodes.Jwt | nodes.Off | None:
    """The tokens that a route asks for; None: as its host. Refused if they cannot be required."""
    if policy is None or (not policy.require and not policy.disabled):
        return None
    at = place.at("jwtVerificationPolicy")
    if policy.require and policy.disabled:
        text = "require and disabled cannot both be set"
        raise Refused(problems.jwt_policy_not_valid(at, text))
    if policy.disabled:
        return nodes.OFF
    required = found.required(policy.require)
    if required is None:
        text = f"there is no provider {policy.require[:60]!r}, or it cannot be served"
        raise Refused(problems.provider_not_defined(at.at("require"), text))
    return required


def _check_names(place: Place, written: tuple[crd.JWTProvider, ...]) -> None:
    seen: set[str] = set()
    for index, it in enumerate(written):
        at = place.at("jwtProviders", index)
        if it.name in seen:
            text = f"there are two providers {it.name[:60]!r}"
            raise Refused(problems.duplicate_provider(at, text))
        seen.add(it.name)
    if sum(it.default for it in written) > 1:
        text = "at most one provider can be the default"
        raise Refused(problems.several_default_providers(place.at("jwtProviders"), text))


def _provider(view: View, place: Place, written: crd.JWTProvider) -> Findings[nodes.JwtProvider]:
    return nodes.JwtProvider(
        name=f"{place.subject.key}/{written.name}",
        jwks=(yield from _jwks(view, place, written)),
        issuer=written.issuer,
        audiences=written.audiences,
        forward=written.forward_jwt,
        claim_headers=tuple(_claim_headers(place, written)),
        origins=(place.subject,),
    )


def _claim_headers(place: Place, written: crd.JWTProvider) -> Iterator[tuple[str, str]]:
    for index, it in enumerate(written.claims_to_headers):
        if refusal := headers.request_refusal(it.header):
            at = place.at("claimsToHeaders", index).at("header")
            raise Refused(problems.claims_not_valid(at, f"{it.header[:60]!r} {refusal}"))
        yield it.claim, it.header.lower()


def _jwks(
    view: View, place: Place, written: crd.JWTProvider
) -> Findings[nodes.RemoteJwks | nodes.LocalJwks]:
    if written.remote_jwks is not None:
        return (yield from _fetched(view, place.at("remoteJWKS"), written.remote_jwks))
    if written.local_jwks is None:  # the model requires one of them
        raise Refused(problems.jwks_missing(place, "needs one of remoteJWKS and localJWKS"))
    secret = ObjectRef("Secret", place.subject.namespace, written.local_jwks.secret_name)
    found = view.ask(jwks.local, jwks.Entry(secret, written.local_jwks.key))
    if isinstance(found, Problem):
        raise Refused(problems.local_jwks_not_valid(place.at("localJWKS"), found.message))
    return found


def _fetched(view: View, place: Place, written: crd.RemoteJWKS) -> Findings[nodes.RemoteJwks]:
    """A key set that a server has; Refused while it has not been fetched."""
    source = yield from _source(view, place, written)
    found = view.ask(keysets.state, source)
    if not found.is_known:
        raise Refused(problems.jwks_not_fetched(place, found.fault))
    if found.fault:
        yield problems.jwks_not_renewed(place, found.fault)
    return source


def _source(view: View, place: Place, written: crd.RemoteJWKS) -> Findings[nodes.RemoteJwks]:
    if refusal := uris.refusal(written.uri, ("http", "https")):
        raise Refused(_NOT_VALID[refusal.part](place.at("uri"), refusal.why))
    is_tls = written.uri.lower().startswith("https:")
    if written.validation is not None and not is_tls:
        text = "only a server that is asked by https has a certificate"
        raise Refused(problems.JWKS_SERVER.not_valid(place.at("validation"), text))
    tls = _tls(view, place, written) if is_tls else None
    timeout = yield from _timeout(place.at("timeout"), written.timeout)
    at = place.at("cacheDuration")
    refresh = _seconds(at, written.cache_duration, problems.jwks_cache_not_valid)
    family = written.dns_lookup_family
    return nodes.RemoteJwks(written.uri, tls, timeout, refresh, family)


_NOT_VALID: Mapping[str, Constructor] = {
    "uri": problems.jwks_uri_not_valid,
    "scheme": problems.jwks_scheme_not_valid,
    "port": problems.jwks_port_not_valid,
}


def _tls(view: View, place: Place, written: crd.RemoteJWKS) -> nodes.UpstreamTls:
    host = uris.host(written.uri)
    if written.validation is None:
        return nodes.UpstreamTls(sni=host)
    at = place.at("validation")
    return upstreamtls.checked(view, at, written.validation, problems.JWKS_SERVER, host)


def _timeout(place: Place, text: str | None) -> Findings[float]:
    wanted = _seconds(place, text, problems.jwks_timeout_not_valid) or 1.0
    if wanted > keysets.LONGEST_FETCH:
        yield problems.jwks_timeout_too_long(place, keysets.LONGEST_FETCH)
    return min(wanted, keysets.LONGEST_FETCH)


def _seconds(place: Place, text: str | None, not_valid: Constructor) -> float | None:
    return None if text is None else durations.read(place, text, not_valid) or None
