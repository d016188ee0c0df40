"""What a SecurityPolicy means: guards of routes, or that these are closed (Envoy Gateway 1.9).

What guards something and cannot be built, or is not known here, closes the routes of the policy;
everything that is wrong with it is told. What routes read of it (`EFFECTS`) and what its owner is
told are told apart. Elsewhere: which policy is for which route (`policytargets`), how it becomes
part of one (`securityguards`).
"""

from collections.abc import Iterator
from dataclasses import replace

from crds.envoygateway.policytargets import UnreadPolicy
from crds.envoygateway.securitypolicy import PolicyCORS, PolicyCSRF, SecurityPolicy
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from crds.unserved import unserved
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import backends, guards
from dag.gateway.envoypolicies import (
    securityaccess,
    securitycredentials,
    securityservers,
    securitytokens,
)
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policytargets import PolicyKind
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered
from dag.statuses import PolicyStatus
from dag.values import durations

KIND = securitytokens.KIND
POLICIES = PolicyKind(KIND, tables.SECURITY_POLICIES)
ANCESTRY = Ancestry(POLICIES)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a policy does to its routes."""

    policies: nodes.Policies = nodes.Policies()
    is_closed: bool = False
    """They answer an error: something guards them that is not served."""
    leads_to: tuple[ObjectRef, ...] = ()
    """The Services and XBackends that are asked, sorted."""


CLOSED = Effect(is_closed=True)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a policy does, and what is wrong with it."""

    effect: Effect
    problems: tuple[Problem, ...] = ()


@query
def meaning(view: View, key: NamespacedName) -> Meaning | None:
    """What a policy means; None if it is not there."""
    found = view.read(tables.SECURITY_POLICIES, key)
    if found is None:
        return None
    own = complaints.attached(KIND, key)
    if isinstance(found, UnreadPolicy):
        return Meaning(CLOSED, (complaints.policy_unread(own),))
    closing = tuple(_closing(view, found, own))
    policies, told = gathered(_policies(view, found, own))
    if policies is None or closing:
        return Meaning(CLOSED, (*closing, *told))
    asked = securityservers.references(found.spec.ext_auth)
    named = backends.named(view, own.subject, asked)
    return Meaning(Effect(policies, leads_to=named), told)


def _closing(view: View, found: SecurityPolicy, own: Place) -> Iterator[Problem]:
    """What the policy says that is not served, or not known, and may guard something."""
    for field in unserved(found):
        if field.guards:
            yield complaints.policy_closes(Place(own.subject, field.path), f"is {field.why}")
    for value in unknown_values(found):
        yield complaints.policy_closes(Place(own.subject, value.path), value.message)
    if view.read(tables.UNKNOWN_FIELDS, own.subject):
        yield complaints.policy_closes(own, "has a field that is not known here")


def _policies(view: View, found: SecurityPolicy, own: Place) -> Findings[nodes.Policies | None]:
    """The guards; None if one of them cannot be built."""
    spec, key = found.spec, own.subject.key
    made = nodes.Policies()
    try:
        if spec.cors is not None:
            made = replace(made, cors=_cors(spec.cors))
        if spec.csrf is not None:
            made = replace(made, csrf=_csrf(spec.csrf))
        if spec.api_key_auth is not None or spec.basic_auth is not None:
            shown = yield from securitycredentials.required(view, key, spec)
            made = replace(made, authentication=shown)
        if spec.jwt is not None:
            tokens = yield from securitytokens.required(view, key, spec.jwt)
            made = replace(made, jwt=tokens)
        if spec.authorization is not None:
            payloads = securitytokens.payloads(key, spec.jwt)
            at = own.at("authorization")
            made = replace(made, access=securityaccess.access(spec.authorization, at, payloads))
        if spec.ext_auth is not None:
            server = securityservers.authorization(view, spec.ext_auth, own.at("extAuth"))
            made = replace(made, authorization=server)
    except Refused as refused:
        yield refused.problem
        return None
    return made


def _cors(written: PolicyCORS) -> nodes.Cors:
    return nodes.Cors(
        origins=tuple(guards.origin(it) for it in written.allow_origins),
        methods=written.allow_methods,
        headers=written.allow_headers,
        expose=written.expose_headers,
        max_age=int(durations.seconds(written.max_age)) if written.max_age is not None else None,
        credentials=bool(written.allow_credentials),
    )


_MILLION = 1_000_000


def _csrf(written: PolicyCSRF) -> nodes.Csrf:
    shadow = written.shadow_fraction
    passed = _MILLION * shadow.numerator // shadow.denominator if shadow is not None else 0
    origins = tuple(guards.origin_host(it) for it in written.additional_origins)
    return nodes.Csrf(origins, _MILLION - passed)


@query
def security_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """What the owner of a policy is told; None if it is for no Gateway of ours."""
    is_used = view.count(ANCESTRY.in_use, key) > 0
    meant = view.ask(meaning, key) if is_used else None
    return ANCESTRY.status(view, key, meant.problems if meant is not None else ())


def effect(view: View, policy: NamespacedName) -> Effect:
    """What a policy that applies does."""
    return next(iter(view.bucket(EFFECTS, policy)), CLOSED)


def _effect(key: NamespacedName, found: Meaning) -> Iterator[tuple[NamespacedName, Effect]]:
    yield key, found.effect


EFFECTS: Index[NamespacedName, Effect] = Index("effects of SecurityPolicies", meaning, _effect)
"""Of a policy that is in use one member."""

INDEXES = (*ANCESTRY.indexes, EFFECTS)
KEPT = (*ANCESTRY.kept, Kept(meaning, ANCESTRY.in_use))
"""Settled before the routes that read `EFFECTS`."""


def ref(policy: NamespacedName) -> ObjectRef:
    """A policy, among objects of all kinds."""
    return ObjectRef(KIND, *policy)
