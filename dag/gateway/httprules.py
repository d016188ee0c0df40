"""The rules of an HTTPRoute or GRPCRoute: for each of their matches a route.

A rule that cannot be served as it is written is dropped alone. Where one of its filters is to
blame it still takes its requests and answers an error: what it may have been meant to guard must
not go to a wider rule. Elsewhere: matches (`matches`, `grpcmatches`), filters, actions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from crds.gateway.grpcroute import GRPCRoute
from crds.gateway.httproute import HTTPRoute, HTTPRouteRule
from crds.gateway.known import UnknownValue, unknown_values
from crds.gateway.references import BackendObjectReference
from crds.meta import ObjectRef
from crds.records import dataclass, replace
from crds.unserved import UnservedField, unserved
from dag import nodes
from dag.engine.view import View
from dag.foreign import ignored
from dag.gateway import (
    actions,
    backendfilters,
    backends,
    extensionrefs,
    failover,
    filters,
    guards,
    persistence,
    ratelimitfilters,
    routefilters,
)
from dag.gateway.envoypolicies import routeshaping, securityguards
from dag.gateway.rules import Rules
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place

Ruled = tuple[nodes.Route | Problem, ...]


M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Matching(Generic[M]):
    """How the matches of a kind of route are read."""

    every: M
    """The match of a rule that names none."""
    refusals: Callable[[M, Place], Iterable[Problem]]
    node: Callable[[M], nodes.Match]


def rules(
    view: View,
    own: Place,
    route: HTTPRoute | GRPCRoute,
    asked: Sequence[tuple[HTTPRouteRule, Sequence[M]]],
    matching: Matching[M],
) -> Rules:
    """What a route asks for; each rule read as one of an HTTPRoute, beside its own matches."""
    marked, strange = unserved(route), unknown_values(route)
    closing_names = ignored.closing(view, own.subject.kind, route.metadata)
    foreign = [unguarded.rule_guard_is_foreign(own.subject, it.name) for it in closing_names]
    named = ratelimitfilters.of_rules((rule.name or "", wanted) for rule, wanted in asked)
    found: list[Ruled] = []
    for index, (rule, wanted) in enumerate(asked):
        at = own.at("rules", index)
        closing = tuple(_closing(marked, strange, at))
        taken, unmatched = _taken(wanted or (matching.every,), at, matching, strange)
        taken = routefilters.narrowed(view, rule.filters, own.subject, taken)
        closed = _answer(at, is_closed=bool(closing), is_foreign=bool(foreign))
        ruled = _of_rule(_parts(view, rule, taken, at, closed), named[index], rule.name or "")
        shapes = routeshaping.of_rule(view, own.subject, rule.name or "")
        shaped = routeshaping.rule(ruled, shapes, at)
        found.append((*unmatched, *closing, *foreign, *shaped))
    more = _unharmful(own, marked, strange)
    written = [rule for rule, _ in asked]
    made = _together(view, own.subject, written, found, more)
    asked_by_guards = securityguards.asked(view, own, written)
    return replace(made, leads_to=tuple(sorted({*made.leads_to, *asked_by_guards})))


def _of_rule(
    found: Iterable[nodes.Route | Problem], rule: str, section: str
) -> Iterator[nodes.Route | Problem]:
    for it in found:
        yield replace(it, rule=rule, section=section) if isinstance(it, nodes.Route) else it


def _taken(
    wanted: Sequence[M], at: Place, matching: Matching[M], strange: Iterable[UnknownValue]
) -> tuple[list[nodes.Match], list[Problem]]:
    """The requests that a rule takes: none if one of its matches makes no sense; and why not."""
    unmatched = [
        problem
        for index, match in enumerate(wanted)
        for problem in matching.refusals(match, at.at("matches", index))
    ]
    is_unmatched = unmatched or any(it.path.startswith(f"{at.path}.matches[") for it in strange)
    return ([] if is_unmatched else [matching.node(it) for it in wanted]), unmatched


def _answer(at: Place, *, is_closed: bool, is_foreign: bool) -> nodes.Respond | None:
    """What a rule answers that is closed as it is written."""
    if is_foreign:
        return nodes.Respond(503)
    return actions.nowhere(at.subject.kind) if is_closed else None


def _parts(
    view: View,
    rule: HTTPRouteRule,
    wanted: Sequence[nodes.Match],
    at: Place,
    closed: nodes.Respond | None,
) -> Iterator[nodes.Route | Problem]:
    """The routes of a rule, for each group of backends with filters of their own."""
    told: set[Problem] = set()
    rule = yield from failover.prepared(view, rule, at)
    for part, drawn in backendfilters.parts(rule):
        taken = [replace(it, drawn=drawn) for it in wanted]
        for found in _routes(view, part, taken, at, closed):
            if isinstance(found, nodes.Route) or found not in told:
                yield found
            if isinstance(found, Problem):
                told.add(found)


def _routes(
    view: View,
    rule: HTTPRouteRule,
    wanted: Sequence[nodes.Match],
    at: Place,
    closed: nodes.Respond | None,
) -> Iterator[nodes.Route | Problem]:
    """The routes of a rule that takes these requests, and what is wrong with its other parts."""
    refused = [*filters.refusals(rule, at), *persistence.refusals(rule.session_persistence, at)]
    policies, open_problems = guards.policies(view, rule, at)
    yield from (*refused, *open_problems)
    guard = securityguards.of_rule(view, at, rule.name or "")
    closing = securityguards.closing(guard, policies, at)
    if closing is not None:
        yield closing
    is_open = not (refused or closing or any(map(unguarded.closes_a_rule, open_problems)))
    if closed is None and not is_open:
        closed = actions.nowhere(at.subject.kind)
    joined = securityguards.joined(guard, policies)
    attached = (guard.policy,) if guard is not None else ()
    shaping = extensionrefs.objects(view, rule.filters, at.subject.namespace)
    for found in actions.action(view, rule, at):
        if isinstance(found, Problem):
            yield found
        elif closed is not None:
            shut = nodes.Route(nodes.Match(), closed, at.subject, attached=attached)
            yield from (replace(shut, match=match) for match in wanted)
        else:
            made = (_route(rule, at, match, found, joined) for match in wanted)
            yield from (replace(it, extensions=shaping, attached=attached) for it in made)


def _route(
    rule: HTTPRouteRule,
    at: Place,
    match: nodes.Match,
    action: nodes.Action,
    policies: nodes.Policies | None,
) -> nodes.Route:
    return nodes.Route(
        match=match,
        action=action,
        origin=at.subject,
        request_headers=filters.request_headers(rule.filters),
        response_headers=filters.response_headers(rule.filters),
        policies=persistence.added(policies, rule.session_persistence, at),
    )


def _closing(
    marked: Iterable[UnservedField], strange: Iterable[UnknownValue], at: Place
) -> Iterator[Problem]:
    """What of a rule guards something and is not served, or is a word of a later version."""
    for field in marked:
        if field.guards and field.path.startswith(f"{at.path}."):
            why = "is not served, and to leave it out would open what it guards"
            yield problems.rule_dropped(Place(at.subject, field.path), why)
    for value in strange:
        if value.path.startswith(f"{at.path}."):
            yield problems.rule_dropped(Place(at.subject, value.path), value.message)


def _unharmful(
    own: Place, marked: Iterable[UnservedField], strange: Iterable[UnknownValue]
) -> Iterator[Problem]:
    """What is left out without harm."""
    for field in marked:
        if not field.guards:
            yield problems.not_served_yet(Place(own.subject, field.path))
    for value in strange:
        if not value.path.startswith(f"{own.path}.rules["):
            yield problems.value_without_effect(Place(own.subject, value.path), value.message)


def _together(
    view: View,
    own: ObjectRef,
    rules: Iterable[HTTPRouteRule],
    found: Sequence[Ruled],
    more: Iterable[Problem],
) -> Rules:
    """What the rules of a route ask for, all of them."""
    told = [it for each in found for it in each if isinstance(it, Problem)]
    routed = tuple(it for each in found for it in each if isinstance(it, nodes.Route))
    return Rules(
        routes=routed,
        problems=(*told, *more),
        is_accepted=not (found and all(any(map(problems.drops_a_rule, it)) for it in found)),
        leads_to=backends.named(view, own, _references(rules)),
    )


def _references(rules: Iterable[HTTPRouteRule]) -> Iterator[BackendObjectReference]:
    for rule in rules:
        yield from rule.backend_refs
        for found in (*rule.filters, *(it for ref in rule.backend_refs for it in ref.filters)):
            if found.request_mirror is not None:
                yield found.request_mirror.backend_ref
            if found.external_auth is not None:
                yield found.external_auth.backend_ref
