"""The tokens (JWTs) of a SecurityPolicy: its providers, and where their keys come from.

The providers for Envoy (`providers`) and what routes read (`required`) are separate, so an edit of
issuers or keys affects no route. A policy of which one provider cannot be built closes its routes;
one that lacks the keys of some providers takes the tokens of the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

from crds.envoygateway import policytokens as crd
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.merging import Terms
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway import tokenkeys
from dag.gateway.envoypolicies import policymerging
from dag.gateway.envoypolicies.policymerging import Merging
from dag.gateway.envoypolicies.policytargets import PolicyKind
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import durations, headers, uris

KIND = "SecurityPolicy"
POLICIES = PolicyKind(KIND, tables.SECURITY_POLICIES)
MERGING = Merging(
    POLICIES,
    SecurityPolicySpec,
    Terms(
        keys={"spec.extAuth.contextExtensions": "name"},
        restated=frozenset({"spec.authorization.defaultAction"}),
    ),
)
"""Envoy Gateway 1.9 takes the default action from the policy that has the rules."""
SHORTEST_REFRESH = 1.0
"""Seconds after which a key set may be fetched again."""


@query
def providers(view: View, key: NamespacedName) -> tuple[nodes.JwtProvider, ...] | Problem:
    """The providers of a policy, with or without keys; none if it has none."""
    found = MERGING.read(view, key)
    if found is None or found.spec is None or found.spec.jwt is None:
        return ()
    written = found.spec.jwt
    read = written if found.spec.authorization is not None else None
    kept = payloads(key, read)
    try:
        return tuple(_providers(found.own.at("jwt"), written.providers, kept))
    except Refused as refused:
        return refused.problem


def payloads(key: NamespacedName, written: crd.PolicyTokens | None) -> Mapping[str, str]:
    """By provider: the key under which the claims of its tokens are kept for rules."""
    named = written.providers if written is not None else ()
    return {it.name: f"{KIND}/{key}/{it.name}" for it in named}


def source(own: Place, spec: SecurityPolicySpec) -> NamespacedName:
    """The key under which the tokens of a policy, or of two merged ones, are read."""
    fields = ("jwt", "authorization") if spec.authorization is not None else ("jwt",)
    return policymerging.source(own, *fields)


def required(
    view: View, key: NamespacedName, written: crd.PolicyTokens, at: Place
) -> Findings[nodes.Jwt]:
    """The tokens that routes require; Refused if no tokens can be verified."""
    found = view.ask(providers, key)
    if isinstance(found, Problem):
        raise Refused(found)
    faults = tuple(_faults(view, at, found))
    if not any(tokenkeys.state(view, it.jwks).is_known for it in found):
        told = "; ".join(why for _, why in faults)
        raise Refused(complaints.policy_closes(at.at("providers"), told))
    for place, why in faults:
        yield complaints.policy_remark(place, why)
    leniency: nodes.Leniency = "none"
    if written.fail_open:
        leniency = "failed"
    elif written.optional:
        leniency = "missing"
    return nodes.Jwt(f"{KIND}/{key}", ObjectRef(KIND, *key), leniency)


def _faults(
    view: View, at: Place, found: Sequence[nodes.JwtProvider]
) -> Iterator[tuple[Place, str]]:
    for index, provider in enumerate(found):
        state = tokenkeys.state(view, provider.jwks)
        if state.fault:
            kept = "the last key set that was fetched stays in use: " if state.is_known else ""
            yield at.at("providers", index), f"{kept}{state.fault}"


def _providers(
    at: Place, written: Sequence[crd.PolicyTokenProvider], kept: Mapping[str, str]
) -> Iterator[nodes.JwtProvider]:
    seen: set[str] = set()
    for index, it in enumerate(written):
        place = at.at("providers", index)
        if it.name in seen:
            text = f"{it.name[:60]!r} is the name of two providers"
            raise Refused(complaints.policy_closes(place.at("name"), text))
        seen.add(it.name)
        yield _provider(place, it, kept.get(it.name, ""))


def _provider(at: Place, written: crd.PolicyTokenProvider, payload: str) -> nodes.JwtProvider:
    """A provider, named by its content, so that equal ones are one."""
    made = nodes.JwtProvider(
        name="",
        jwks=_keys(at, written),
        issuer=written.issuer,
        audiences=written.audiences,
        forward=True,
        claim_headers=tokenkeys.claim_headers(
            at, written.claim_to_headers, complaints.policy_closes
        ),
        sources=_sources(at, written.extract_from),
        is_rerouting=written.recompute_route,
        payload=payload,
    )
    return replace(made, name=blake2b(repr(made).encode(), digest_size=16).hexdigest())


def _keys(at: Place, written: crd.PolicyTokenProvider) -> tokenkeys.KeySource:
    if written.local_jwks is not None:
        return tokenkeys.local(at.at("localJWKS"), written.local_jwks, complaints.policy_closes)
    assert written.remote_jwks is not None, "the model demands one of the two"
    wanted, place = written.remote_jwks, at.at("remoteJWKS")
    if refusal := uris.refusal(wanted.uri, ("https",)):
        raise Refused(complaints.policy_closes(place.at("uri"), refusal.why))
    refresh = durations.seconds(wanted.cache_duration)
    if refresh < SHORTEST_REFRESH:
        text = f"must be at least {SHORTEST_REFRESH:g}s"
        raise Refused(complaints.policy_closes(place.at("cacheDuration"), text))
    tls = nodes.UpstreamTls(system=True, sni=uris.host(wanted.uri))
    return nodes.RemoteJwks(wanted.uri, tls, tokenkeys.TIMEOUT, refresh)


def _sources(at: Place, written: crd.TokenSources | None) -> nodes.TokenSources | None:
    if written is None or not (written.headers or written.cookies or written.params):
        return None
    for index, it in enumerate(written.headers):
        if why := headers.name_refusal(it.name):
            place = at.at("extractFrom").at("headers", index).at("name")
            raise Refused(complaints.policy_closes(place, f"{it.name[:60]!r} {why}"))
    found = tuple((it.name.lower(), it.value_prefix or "") for it in written.headers)
    return nodes.TokenSources(found, written.cookies, written.params)
