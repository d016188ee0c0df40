"""The rules of an HTTPRoute or GRPCRoute: for each of their matches a route.

A rule that cannot be served as it is written is dropped alone. If one of its filters is the cause,
or something guards it, it still takes the requests of its valid matches and answers an error: what
it may be meant to guard must not go to a wider rule. Elsewhere: matches (`matches`, `grpcmatches`),
filters, actions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from crds.gateway.grpcroute import GRPCRoute
from crds.gateway.httproute import HTTPRoute, HTTPRouteRule
from crds.gateway.known import UnknownValue, unknown_values
from crds.gateway.references import BackendObjectReference
from crds.meta import ObjectRef
from crds.records import dataclass, replace
from crds.unserved import UnservedField, unserved
from dag import nodes, sizes
from dag.engine.view import View
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
    unknownguards,
)
from dag.gateway.envoypolicies import routeshaping, securityguards
from dag.gateway.rules import Rules, UnservedRule
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place

M = TypeVar("M")


class Marks(NamedTuple):
    """Parts of a route that are not served as they are written, whatever its rules mean."""

    unserved: tuple[UnservedField, ...]
    strange: tuple[UnknownValue, ...]
    guarding: tuple[Problem, ...]
    """Guards that are not known here, and close the whole route."""


@dataclass(frozen=True, slots=True)
class ReadRule:
    """What became of a rule."""

    at: Place
    name: str
    found: tuple[nodes.Route | Problem, ...]
    policies: tuple[ObjectRef, ...]
    """The policies that are for the rule or its route."""
    is_dropped: bool
    """Its requests go to wider rules, unless a policy of the listener guards them."""

    @property
    def routes(self) -> tuple[nodes.Route, ...]:
        return tuple(it for it in self.found if isinstance(it, nodes.Route))

    @property
    def told(self) -> tuple[Problem, ...]:
        return tuple(it for it in self.found if isinstance(it, Problem))

    @property
    def is_unserved(self) -> bool:
        """Whether it is not served as it is written."""
        return any(map(problems.drops_a_rule, self.found))


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
    guarding = unknownguards.of_route(view, own.subject, route.metadata)
    marks = Marks(unserved(route), unknown_values(route), guarding)
    named = ratelimitfilters.of_rules((rule.name or "", wanted) for rule, wanted in asked)
    found: list[ReadRule] = []
    for index, (rule, wanted) in enumerate(asked):
        at, every = own.at("rules", index), wanted or (matching.every,)
        known, unmatched = _known(every, at, matching, marks)
        is_partial = len(known) < len(every)
        made = _read(view, rule, known, at, marks, is_partial=is_partial)
        ruled = tuple(_of_rule(made.found, named[index], made.name))
        found.append(replace(made, found=(*unmatched, *ruled)))
    more = _unharmful(own, marks)
    written = [rule for rule, _ in asked]
    together = _together(view, own.subject, written, found, more)
    asked_by_guards = securityguards.asked(view, own, written)
    leads_to = tuple(sorted({*together.leads_to, *asked_by_guards}))
    text = sizes.of_entries((*together.routes, *together.if_guarded))
    return replace(together, names=named, text=text, leads_to=leads_to)


def _read(
    view: View,
    rule: HTTPRouteRule,
    known: Sequence[nodes.Match],
    at: Place,
    marks: Marks,
    *,
    is_partial: bool,
) -> ReadRule:
    """The rule, read; it answers an error if some matches are not valid, or something closes it."""
    name, closing = rule.name or "", tuple(_closing(marks, at))
    guard = securityguards.of_rule(view, at, name)
    shapes = routeshaping.of_rule(view, at.subject, name)
    taken = routefilters.narrowed(view, rule.filters, at.subject, known)
    closed = _answer(at, is_closed=bool(closing) or is_partial, is_guarded=bool(marks.guarding))
    made = routeshaping.rule(_parts(view, rule, taken, at, closed), shapes, at)
    is_guarded = guard is not None or routeshaping.guards(shapes) or _has_guard(rule, marks, at)
    return ReadRule(
        at,
        name,
        (*closing, *marks.guarding, *made),
        (*((guard.policy,) if guard is not None else ()), *(it.policy for it in shapes)),
        is_dropped=is_partial and not is_guarded,
    )


def _of_rule(
    found: Iterable[nodes.Route | Problem], rule: str, section: str
) -> Iterator[nodes.Route | Problem]:
    for it in found:
        yield replace(it, rule=rule, section=section) if isinstance(it, nodes.Route) else it


def _known(
    wanted: Sequence[M], at: Place, matching: Matching[M], marks: Marks
) -> tuple[list[nodes.Match], list[Problem]]:
    """The valid matches of a rule, and why the others are not valid."""
    known: list[nodes.Match] = []
    told: list[Problem] = []
    for index, match in enumerate(wanted):
        place = at.at("matches", index)
        refused = list(matching.refusals(match, place))
        told.extend(refused)
        if not refused and not any(it.path.startswith(f"{place.path}.") for it in marks.strange):
            known.append(matching.node(match))
    return known, told


def _has_guard(rule: HTTPRouteRule, marks: Marks, at: Place) -> bool:
    """Whether something in a rule or its route guards requests, or may do so, served or not."""
    every = (*rule.filters, *(it for ref in rule.backend_refs for it in ref.filters))
    if marks.guarding or any(it.cors or it.external_auth or it.extension_ref for it in every):
        return True
    paths = (*(it.path for it in marks.unserved if it.guards), *(it.path for it in marks.strange))
    own = (it.removeprefix(f"{at.path}.") for it in paths if it.startswith(f"{at.path}."))
    return any(not it.startswith("matches[") for it in own)


def _answer(at: Place, *, is_closed: bool, is_guarded: bool) -> nodes.Respond | None:
    """The answer of a rule that is closed; None if it is not."""
    if is_guarded:
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
            made = replace(_route(rule, at, found, joined), extensions=shaping, attached=attached)
            yield from (replace(made, match=match) for match in wanted)


def _route(
    rule: HTTPRouteRule,
    at: Place,
    action: nodes.Action,
    policies: nodes.Policies | None,
) -> nodes.Route:
    return nodes.Route(
        match=nodes.Match(),
        action=action,
        origin=at.subject,
        request_headers=filters.request_headers(rule),
        response_headers=filters.response_headers(rule.filters),
        policies=persistence.added(policies, rule.session_persistence, at),
    )


def _closing(marks: Marks, at: Place) -> Iterator[Problem]:
    """Parts of a rule that guard something and are not served, or are values of a later version."""
    for field in marks.unserved:
        if field.guards and field.path.startswith(f"{at.path}."):
            why = "is not served, and to leave it out would open what it guards"
            yield problems.rule_dropped(Place(at.subject, field.path), why)
    for value in marks.strange:
        if value.path.startswith(f"{at.path}."):
            yield problems.rule_dropped(Place(at.subject, value.path), value.message)


def _unharmful(own: Place, marks: Marks) -> Iterator[Problem]:
    """Parts that are left out without harm."""
    for field in marks.unserved:
        if not field.guards:
            yield problems.not_served_yet(Place(own.subject, field.path))
    for value in marks.strange:
        if not value.path.startswith(f"{own.path}.rules["):
            yield problems.value_without_effect(Place(own.subject, value.path), value.message)


def _together(
    view: View,
    own: ObjectRef,
    rules: Iterable[HTTPRouteRule],
    found: Sequence[ReadRule],
    more: Iterable[Problem],
) -> Rules:
    """What all rules of a route ask for together."""
    unserved = [it for it in found if it.is_unserved]
    return Rules(
        routes=tuple(route for it in found if not it.is_dropped for route in it.routes),
        if_guarded=tuple(route for it in found if it.is_dropped for route in it.routes),
        problems=(*(told for it in found for told in it.told), *more),
        is_accepted=not found or len(unserved) < len(found),
        unserved=tuple(
            UnservedRule(policy, it.at, it.name) for it in unserved for policy in it.policies
        ),
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
