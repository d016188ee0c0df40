"""What an HTTPRoute asks for, whichever hosts it is attached to: its rules as routes.

Gateway API, "HTTPRouteRule". One route for each match of each rule, in the order they are
written. A rule that cannot be served as it is written is dropped alone. Where one of its filters
is to blame it still takes its requests and answers 500: what it may have been meant to guard must
not go to a wider rule. Elsewhere: the hosts (`attachment`, `hosts`), the port of a redirect
(`redirects`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from crds.gateway import httproute as crd
from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.matches import HTTPRouteMatch
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import UnservedField, unserved
from dag import nodes, tables
from dag.gateway import backends, filters, matches
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View, query


@dataclass(frozen=True, slots=True)
class Rules:
    """The routes of an HTTPRoute, and everything that is wrong with its rules."""

    routes: tuple[nodes.Route, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_accepted: bool = True
    """Whether at least one rule is served as it is written."""


@query
def rules(view: View, key: NamespacedName) -> Rules:
    """What the rules of a route ask for."""
    route = view.read(tables.HTTPROUTES, key)
    if route is None:
        return Rules()
    own, marked = problems.route("HTTPRoute", key), unserved(route)
    found = [
        tuple(_rule(view, rule, own.at("rules", index), marked))
        for index, rule in enumerate(route.spec.rules)
    ]
    told = [it for each in found for it in each if isinstance(it, Problem)]
    return Rules(
        routes=tuple(it for each in found for it in each if isinstance(it, nodes.Route)),
        problems=(*told, *_unserved(route, own, marked)),
        is_accepted=not all(any(map(problems.drops_a_rule, each)) for each in found),
    )


@query
def is_accepted(view: View, key: NamespacedName) -> bool:
    """Whether at least one rule of a route is served as it is written."""
    return view.ask(rules, key).is_accepted


Marked = tuple[UnservedField, ...]


def _rule(
    view: View, rule: crd.HTTPRouteRule, at: Place, marked: Marked
) -> Iterator[nodes.Route | Problem]:
    wanted = rule.matches or (HTTPRouteMatch(),)
    unmatched = [
        problem
        for index, match in enumerate(wanted)
        for problem in matches.refusals(match, at.at("matches", index))
    ]
    closed = list(_refusals(rule, at, marked))
    yield from (*unmatched, *closed)
    for found in _answer(view, rule, at):
        if isinstance(found, Problem):
            yield found
        elif not unmatched:
            action = backends.NOWHERE if closed else found
            yield from (_route(rule, at.subject, matches.node(it), action) for it in wanted)


def _refusals(rule: crd.HTTPRouteRule, at: Place, marked: Marked) -> Iterator[Problem]:
    yield from filters.refusals(rule.filters, at)
    for index, reference in enumerate(rule.backend_refs):
        yield from filters.refusals(reference.filters, at.at("backendRefs", index))
    for field in marked:
        if field.guards and field.path.startswith(f"{at.path}."):
            why = "is not served yet, and to leave it out would open what it guards"
            yield problems.rule_dropped(Place(at.subject, field.path), why)


def _answer(view: View, rule: crd.HTTPRouteRule, at: Place) -> Iterator[nodes.Action | Problem]:
    redirect = filters.redirect(rule.filters)
    if redirect is not None:
        yield redirect
    else:
        yield from backends.answer(view, rule, at)


def _route(
    rule: crd.HTTPRouteRule, origin: ObjectRef, match: nodes.Match, action: nodes.Action
) -> nodes.Route:
    return nodes.Route(
        match=match,
        action=action,
        origin=origin,
        request_headers=filters.request_headers(rule.filters),
        response_headers=filters.response_headers(rule.filters),
    )


def _unserved(route: crd.HTTPRoute, own: Place, marked: Marked) -> Iterator[Problem]:
    """What is left out without harm. Of the filters of backends, header changes are served."""
    for field in marked:
        if not field.guards and not field.path.endswith("].filters"):
            yield problems.not_served_yet(Place(own.subject, field.path))
    for index, rule in enumerate(route.spec.rules):
        for number, reference in enumerate(rule.backend_refs):
            backend = own.at("rules", index).at("backendRefs", number)
            for position, found in enumerate(reference.filters):
                if _changes_the_request_line(found):
                    yield problems.not_served_yet(backend.at("filters", position))


def _changes_the_request_line(found: HTTPRouteFilter) -> bool:
    return found.request_redirect is not None or found.url_rewrite is not None
