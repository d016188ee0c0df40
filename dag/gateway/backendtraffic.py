"""How many retries a backend gets, and how its sessions are kept, as an XBackendTrafficPolicy says.

Experimental (GEP-3388, GEP-1619). The oldest policy holds for a Service, XBackend or Backend. It
applies to requests; streams have neither retries nor such sessions. Elsewhere: what its owner is
told (`backendtrafficstatus`).

Envoy first chooses a backend by weight, and a session does not change that choice; so every backend
has a session of its own. If a rule has session persistence itself, that counts.

The budget becomes Envoy's, which bounds how many retries are in progress at once. So the rate of
`minRetryRate` becomes such a number, too: n retries a second that take a second each are n at once.
Faster retries exceed the rate, slower ones stay below it.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from crds.gateway.durations import milliseconds
from crds.gateway.experimental import SessionPersistence
from crds.gateway.known import unknown_values
from crds.gateway.references import EXPERIMENTAL_GROUP, LocalObjectReference
from crds.gateway.xbackendtrafficpolicy import (
    RetryConstraint,
    RetryRate,
    XBackendTrafficPolicy,
    XBackendTrafficPolicySpec,
)
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.gateway import persistence
from dag.problems import Problem, shared
from dag.problems import policies as problems
from dag.problems.places import Place
from dag.seniority import Senior, senior

KIND = "XBackendTrafficPolicy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a policy asks for, and what is wrong with it."""

    retry_budget: nodes.RetryBudget | None = None
    session: SessionPersistence | None = None
    problems: tuple[Problem, ...] = ()


@query
def wanted(view: View, key: NamespacedName) -> Wanted:
    """What a policy asks for; nothing if a part of it makes no sense."""
    found = view.read(tables.XBACKEND_TRAFFIC_POLICIES, key)
    if found is None:
        return Wanted()
    own = problems.attached(KIND, key)
    refused = tuple(_refusals(found, own))
    if refused:
        return Wanted(problems=refused)
    asked = found.spec.retry_constraint
    return Wanted(
        _budget(asked) if asked is not None else None,
        found.spec.session_persistence,
        tuple(_remarks(found.spec, own)),
    )


def winner(view: View, backend: ObjectRef) -> NamespacedName | None:
    """The policy that holds for a backend: the oldest."""
    claims = view.bucket(POLICIES, backend)
    return min(claims).key if claims else None


class Held(NamedTuple):
    """What a policy gives to a backend."""

    retry_budget: nodes.RetryBudget | None = None
    session: nodes.SessionPersistence | None = None


@query
def held(view: View, backend: ObjectRef) -> Held:
    """What the policy that holds for a backend gives to it."""
    policy = winner(view, backend)
    if policy is None:
        return Held()
    found = view.ask(wanted, policy)
    own = f"{backend.kind.lower()}-{backend.namespace}-{backend.name}"
    kept = persistence.session(found.session, own) if found.session is not None else None
    return Held(found.retry_budget, kept)


def bounded(view: View, cluster: nodes.Cluster) -> nodes.Cluster:
    """A cluster with the retry budget of its backend."""
    budget = view.ask(held, cluster.port.owner).retry_budget
    return replace(cluster, retry_budget=budget) if budget is not None else cluster


def targets(found: XBackendTrafficPolicy) -> tuple[ObjectRef, ...]:
    """The backends that a policy is for; they are in its namespace."""
    namespace = found.metadata.namespace
    named = (it for it in found.spec.target_refs if is_backend(it))
    return tuple(dict.fromkeys(ObjectRef(it.kind, namespace, it.name) for it in named))


def is_backend(target: LocalObjectReference) -> bool:
    """Whether a policy may be for objects of this kind."""
    return (target.group, target.kind) in _TARGETS


_TARGETS = frozenset(
    {("", "Service"), (EXPERIMENTAL_GROUP, "XBackend"), (ENVOY_GATEWAY, "Backend")}
)


def _refusals(found: XBackendTrafficPolicy, own: Place) -> Iterator[Problem]:
    for unknown in unknown_values(found):
        yield problems.policy_value_not_known(Place(own.subject, unknown.path), unknown.message)
    kept = found.spec.session_persistence
    if kept is not None:
        for place, why in persistence.faults(kept, own.at("sessionPersistence")):
            yield problems.policy_value_not_known(place, why)


def _budget(asked: RetryConstraint) -> nodes.RetryBudget:
    return nodes.RetryBudget(
        float(asked.budget.percent),
        milliseconds(asked.budget.interval) / 1000,
        _at_once(asked.min_retry_rate),
    )


def _at_once(rate: RetryRate) -> int:
    """How many retries that take a second each make up the rate; at least one."""
    count = _COUNT if rate.count is None else rate.count
    return max(1, math.ceil(1000 * count / milliseconds(rate.interval or _INTERVAL)))


_COUNT, _INTERVAL = 10, "1s"
"""The rate where it is not said."""


def _remarks(spec: XBackendTrafficPolicySpec, own: Place) -> Iterator[Problem]:
    """Fields that are served differently than the API says, or not at all."""
    asked, kept = spec.retry_constraint, spec.session_persistence
    if asked is None and kept is None:
        yield problems.policy_remark(own, "asks for nothing")
    if asked is not None:
        at = own.at("retryConstraint")
        text = "retries count only while they are under way, and for each Envoy on its own; so do"
        text += " requests in Envoys before 1.39, whatever the interval"
        yield problems.policy_remark(at.at("budget"), text)
        text = f"{_at_once(asked.min_retry_rate)} retries may always be under way at once, for each"
        text += " Envoy: the rate, if each of them takes a second"
        yield problems.policy_remark(at.at("minRetryRate"), text)
    if kept is not None:
        yield from _of_session(spec, kept, own.at("sessionPersistence"))


def _of_session(
    spec: XBackendTrafficPolicySpec, kept: SessionPersistence, at: Place
) -> Iterator[Problem]:
    cookie = kept.cookie or kept.cookie_config
    is_permanent = cookie is not None and cookie.lifetime_type == "Permanent"
    if kept.absolute_timeout is not None and not is_permanent:
        why = "only a permanent cookie ends by itself"
        yield shared.no_effect(at.at("absoluteTimeout"), why)
    given = kept.session_name or getattr(kept.cookie or kept.header, "name", None)
    if given is not None and len(spec.target_refs) > 1:
        text = f"{given} is one name for several backends: a client has the session of the last one"
        yield problems.policy_remark(at, text)


def _by_target(
    _: NamespacedName, found: XBackendTrafficPolicy
) -> Iterator[tuple[ObjectRef, Senior]]:
    return ((it, senior(found.metadata)) for it in targets(found))


POLICIES: Index[ObjectRef, Senior] = Index(
    "XBackendTrafficPolicies of a backend", tables.XBACKEND_TRAFFIC_POLICIES, _by_target
)

INDEXES = (POLICIES,)
