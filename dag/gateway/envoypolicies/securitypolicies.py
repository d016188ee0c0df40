"""What a SecurityPolicy means: guards of routes, or that these are closed (Envoy Gateway 1.9).

A guard that cannot be built, or is not known here, closes the routes of the policy; everything that
is wrong with it is reported. What routes read of it (`EFFECTS`) and its status are separate.
Elsewhere: which policy is for which route (`policytargets`), how it becomes part of one
(`securityguards`).
"""

from collections.abc import Iterator

from crds.envoygateway.policycredentials import KeySources
from crds.envoygateway.policytokens import TokenSources
from crds.envoygateway.securitypolicy import PolicyCORS, PolicyCSRF, SecurityPolicySpec
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, guards
from dag.gateway.envoypolicies import (
    loginprovider,
    securityaccess,
    securitycredentials,
    securitylogin,
    securityservers,
    securitytokens,
)
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects
from dag.problems import Problem, Refused, anywhere
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import durations, headers

KIND = securitytokens.KIND
POLICIES = securitytokens.POLICIES
MERGING = securitytokens.MERGING


@dataclass(frozen=True, slots=True)
class Effect:
    """What a policy does to its routes."""

    policies: nodes.Policies = nodes.Policies()
    is_closed: bool = False
    """The routes answer an error: something guards them that is not served."""
    spares_streams: bool = False
    """No unserved part of the policy says who may connect."""
    leads_to: tuple[ObjectRef, ...] = ()
    """The Services and XBackends that guards call, sorted."""


CLOSED = Effect(is_closed=True)
_OF_REQUESTS = Effect(is_closed=True, spares_streams=True)


def _effect(view: View, spec: SecurityPolicySpec, own: Place) -> Findings[Effect | None]:
    """The effect of a policy; None if a part cannot be built that may be meant for streams, too."""
    policies = yield from _policies(view, spec, own)
    if policies is None:
        return _OF_REQUESTS if spec.authorization is None else None
    named = {
        *backends.named(view, own.at("extAuth").subject, securityservers.references(spec.ext_auth)),
        *backends.named(view, own.at("oidc").subject, loginprovider.references(spec.oidc)),
    }
    return Effect(policies, leads_to=tuple(sorted(named)))


def _policies(view: View, spec: SecurityPolicySpec, own: Place) -> Findings[nodes.Policies | None]:
    """The guards; None if one of them cannot be built."""
    made = nodes.Policies()
    try:
        if spec.cors is not None:
            origins = yield from _cors(spec.cors, own.at("cors"))
            made = replace(made, cors=origins)
        if spec.csrf is not None:
            made = replace(made, csrf=_csrf(spec.csrf))
        if spec.api_key_auth is not None or spec.basic_auth is not None:
            yield from _twice_in_one_header(spec, own)
            shown = yield from securitycredentials.required(view, own, spec)
            made = replace(made, authentication=shown)
        if spec.oidc is not None:
            login = yield from securitylogin.required(view, own, spec)
            made = replace(made, login=login)
        if spec.jwt is not None:
            key = securitytokens.source(own, spec)
            tokens = yield from securitytokens.required(view, key, spec.jwt, own.at("jwt"))
            made = replace(made, jwt=tokens)
        if spec.authorization is not None:
            payloads = securitytokens.payloads(securitytokens.source(own, spec), spec.jwt)
            at = own.at("authorization")
            made = replace(made, access=securityaccess.access(spec.authorization, at, payloads))
        if spec.ext_auth is not None:
            server = securityservers.authorization(view, spec.ext_auth, own.at("extAuth"))
            made = replace(made, authorization=server)
    except Refused as refused:
        yield refused.problem
        return None
    return made


_PASSWORDS = "authorization"
"""The header in which requests have passwords, and their tokens by default."""


def _twice_in_one_header(spec: SecurityPolicySpec, own: Place) -> Iterator[Problem]:
    """Tells of keys and tokens that requests would need where they have a password."""
    if spec.basic_auth is None:
        return
    keys, tokens = spec.api_key_auth, spec.jwt
    if keys is not None and all(_is_of_passwords(it) for it in keys.extract_from):
        yield _in_one_header(own.at("apiKeyAuth"))
    # A login may write the token into the header, after the password has been read.
    if tokens is None or tokens.optional or tokens.fail_open or spec.oidc is not None:
        return
    if all(it.extract_from is None or _is_of_passwords(it.extract_from) for it in tokens.providers):
        yield _in_one_header(own.at("jwt"))


def _is_of_passwords(found: KeySources | TokenSources) -> bool:
    """Whether something is looked for in that header, or by default, and nowhere else."""
    names = {it if isinstance(it, str) else it.name for it in found.headers}
    return not (found.cookies or found.params) and {it.lower() for it in names} <= {_PASSWORDS}


def _in_one_header(at: Place) -> Problem:
    text = "in which basicAuth wants a password: let extractFrom name another place"
    return complaints.policy_remark(at, f"cannot be met by the header {_PASSWORDS}, {text}")


def _cors(written: PolicyCORS, at: Place) -> Findings[nodes.Cors]:
    """The policy; Refused for text that would end the line of an answer."""
    for field, texts in (
        ("allowMethods", written.allow_methods),
        ("allowHeaders", written.allow_headers),
        ("exposeHeaders", written.expose_headers),
    ):
        for index, it in enumerate(texts):
            if why := headers.value_refusal(it):
                place = at.at(field, index)
                raise Refused(complaints.policy_closes(place, f"{it[:60]!r} {why}"))
    found = nodes.Cors(
        origins=tuple(guards.origin(it) for it in written.allow_origins),
        methods=written.allow_methods,
        headers=written.allow_headers,
        expose=written.expose_headers,
        max_age=int(durations.seconds(written.max_age)) if written.max_age is not None else None,
        credentials=bool(written.allow_credentials),
    )
    if found.exposed != found.expose:
        text = f"{anywhere.STANDS_FOR_NO_HEADER}; it has no effect"
        yield complaints.policy_remark(at.at("exposeHeaders"), text)
    return found


_MILLION = 1_000_000


def _csrf(written: PolicyCSRF) -> nodes.Csrf:
    shadow = written.shadow_fraction
    passed = _MILLION * shadow.numerator // shadow.denominator if shadow is not None else 0
    origins = tuple(guards.origin_host(it) for it in written.additional_origins)
    return nodes.Csrf(origins, _MILLION - passed)


EFFECTS = Effects(Ancestry(POLICIES, MERGING.is_merging), _effect, CLOSED, merging=MERGING)


def ref(policy: NamespacedName) -> ObjectRef:
    """The reference to a policy."""
    return ObjectRef(KIND, *policy)
