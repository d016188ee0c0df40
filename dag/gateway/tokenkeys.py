"""The keys of a token provider (JWKS): where they come from, and whether there are any.

The provider is one of an AuthenticationFilter or a SecurityPolicy; its keys come from a server
(`remoteJWKS`), from the object itself or from another one in its namespace (`localJWKS`). Invalid
fields are refused; missing keys are reported, and their provider is left out.
"""

from collections.abc import Iterator, Sequence

from crds.envoygateway import authenticationfilter as crd
from crds.meta import ObjectRef
from dag import nodes
from dag.engine.view import View
from dag.problems import Refused
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.shared import Constructor
from dag.references import jwks, keysets, trust
from dag.references.keysets import State
from dag.values import headers, uris

TIMEOUT = 5.0
"""Seconds in which the server of a key set has to answer."""

KeySource = nodes.RemoteJwks | nodes.LocalJwks | nodes.StoredJwks


def source(at: Place, written: crd.JWTAuthenticationProvider) -> KeySource:
    """The source of a provider's keys, by its filter alone; Refused if that is not valid."""
    given = {
        "remoteJWKS": written.remote_jwks,
        "remoteJwks": written.remote_jwks_as_designed,
        "localJWKS": written.local_jwks,
    }
    found = [(name, it) for name, it in given.items() if it is not None]
    if len(found) != 1:
        text = "exactly one of remoteJWKS, remoteJwks and localJWKS must be set"
        raise Refused(problems.filter_not_valid(at, text))
    ((name, it),) = found
    if isinstance(it, crd.LocalKeySet):
        return local(at.at(name), it, problems.filter_not_valid)
    return _remote(at.at(name), it)


def state(view: View, found: KeySource) -> State:
    """Whether there are keys, and what is wrong with them; equal when the keys are only renewed."""
    match found:
        case nodes.RemoteJwks():
            known = view.ask(keysets.state, found)
            return known._replace(fault=_distrust(view, found) or known.fault)
        case nodes.StoredJwks():
            fault = view.ask(jwks.fault, found)
            return State(not fault, fault)
        case nodes.LocalJwks():
            return State(is_known=True, fault="")


def _distrust(view: View, found: nodes.RemoteJwks) -> str:
    """Why the certificate of a server cannot be verified."""
    trusted = found.tls.trust if found.tls is not None else None
    refusal = view.ask(trust.refusal, trusted) if trusted is not None else None
    return refusal.message if refusal is not None else ""


def _remote(at: Place, written: crd.RemoteKeySet) -> nodes.RemoteJwks:
    if refusal := uris.refusal(written.uri, ("https",)):
        raise Refused(problems.filter_not_valid(at.at("uri"), refusal.why))
    authorities = tuple(_authorities(at, written))
    tls = nodes.UpstreamTls(
        trust=nodes.Trust(authorities) if authorities else None,
        system=not authorities,
        sni=uris.host(written.uri),
    )
    return nodes.RemoteJwks(written.uri, tls, TIMEOUT)


def _authorities(at: Place, written: crd.RemoteKeySet) -> Iterator[ObjectRef]:
    for index, it in enumerate(written.ca_certificate_refs):
        yield _object(at.at("caCertificateRefs", index), it, problems.filter_not_valid)


def local(
    at: Place, written: crd.LocalKeySet, not_valid: Constructor
) -> nodes.LocalJwks | nodes.StoredJwks:
    """The source of keys that need no server, for a filter or a policy."""
    wanted, other = written.inline, written.value_ref
    if written.type == "Inline" and wanted is not None and other is None:
        if why := jwks.refusal(wanted.encode()):
            raise Refused(not_valid(at.at("inline"), f"the key set {why}"))
        return nodes.LocalJwks(wanted)
    if written.type == "ValueRef" and wanted is None and other is not None:
        return nodes.StoredJwks(_object(at.at("valueRef"), other, not_valid))
    text = "needs inline for the type Inline, or valueRef for the type ValueRef, and not the other"
    raise Refused(not_valid(at, text))


def _object(at: Place, reference: crd.ContentReference, not_valid: Constructor) -> ObjectRef:
    """An object in the namespace of the referrer."""
    if (reference.group, reference.kind) not in {("", "ConfigMap"), ("", "Secret")}:
        kind = f"{reference.group}/{reference.kind}".lstrip("/")[:60]
        text = f"kind {kind} is not supported; use ConfigMap or Secret"
        raise Refused(not_valid(at, text))
    return ObjectRef(reference.kind, at.subject.namespace, reference.name)


def claim_headers(
    at: Place, written: Sequence[crd.ClaimHeader], not_valid: Constructor
) -> tuple[tuple[str, str], ...]:
    """Claims with the headers that they become, in lower case, for a filter or a policy."""
    for index, it in enumerate(written):
        place = at.at("claimToHeaders", index)
        if not it.claim:
            raise Refused(not_valid(place.at("claim"), "must not be empty"))
        if why := headers.request_refusal(it.header):
            raise Refused(not_valid(place.at("header"), f"{it.header[:60]!r} {why}"))
    return tuple((it.claim, it.header.lower()) for it in written)
