"""One route of an HTTPProxy: its match, its guards and its action.

A route that cannot be served is dropped alone, with an error. If it is guarded, or its guard cannot
be served, it answers 503 instead: a wider route without the guard must not get its requests.
Functions that it calls return their node and yield the problems found on the way. Source: HTTPProxy
reference, "Route". Elsewhere: the conditions it inherits (`includes`), plain HTTP of TLS hosts
(`expansion`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds import httpproxy as crd
from crds.unserved import unserved
from dag import nodes
from dag.engine.view import View
from dag.httpproxy import answers, conditions, forwarding, guards, headerpolicies, rewrites
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place

GUARDED = nodes.Respond(503)
"""The answer of a route whose guard is not served, or of a guarded route that cannot be served."""


class Scope(NamedTuple):
    """What the routes of one root have in common."""

    view: View
    host: guards.HostGuards = guards.OPEN


class LocatedRoute(NamedTuple):
    """A route, where it was written, and whether plain HTTP may use it on a TLS host."""

    route: nodes.Route
    place: Place
    permits_plain: bool = False
    implied: nodes.Segments | None = None
    """The path that it takes besides, unless a route is written for that."""


def written(
    scope: Scope, place: Place, route: crd.Route, inherited: nodes.Match
) -> Iterator[LocatedRoute | Problem]:
    """The route, or the one that replaces it if something in it cannot be served."""
    try:
        match = conditions.narrowed(place, inherited, route.conditions)
    except Refused as refused:
        yield refused.problem
        return
    try:
        node = yield from _node(scope, place, route, match)
        yield _located(place, route, node)
    except Refused as refused:
        problem = refused.problem
        if not problem.closes and guards.stand_before(route, scope.host):
            problem = problems.guarded_route_closed(problem)
        yield problem
        if problem.closes:
            yield _located(place, route, nodes.Route(match, GUARDED, place.subject))


def _located(place: Place, route: crd.Route, node: nodes.Route) -> LocatedRoute:
    policy = route.path_rewrite_policy if route.services else None
    implied = rewrites.without_slash(policy, node.match)
    return LocatedRoute(node, place, route.permit_insecure, implied)


def _node(
    scope: Scope, place: Place, route: crd.Route, match: nodes.Match
) -> Findings[nodes.Route]:
    lacks_default = scope.host.providers.lack(route.jwt_verification_policy)
    if scope.host.is_closed or lacks_default or any(it.guards for it in unserved(route)):
        return nodes.Route(match, GUARDED, place.subject)
    policies = yield from guards.of_route(scope.view, place, route, scope.host)
    written_action = yield from _action(scope.view, place, route, match)
    action = yield from guards.without_upgrades(place, written_action, policies, scope.host)
    requests = yield from _headers(place, action, route.request_headers_policy, "request")
    responses = yield from _headers(place, action, route.response_headers_policy, "response")
    return nodes.Route(match, action, place.subject, requests, responses, policies)


def _headers(
    place: Place,
    action: nodes.Action,
    policy: headerpolicies.Policy,
    side: headerpolicies.Side,
) -> Findings[nodes.HeaderPolicy | None]:
    if isinstance(action, nodes.Forward):
        return headerpolicies.of_route(place, policy, side)
    return (yield from headerpolicies.of_answer(place, policy, side))


def _action(
    view: View, place: Place, route: crd.Route, match: nodes.Match
) -> Findings[nodes.Action]:
    redirect, response = route.request_redirect_policy, route.direct_response_policy
    if [bool(route.services), redirect is not None, response is not None].count(True) != 1:
        raise Refused(problems.action_count_not_valid(place))
    if redirect is not None:
        return answers.redirect(place.at("requestRedirectPolicy"), redirect, match)
    if response is not None:
        return (yield from answers.response(place.at("directResponsePolicy"), response))
    return (yield from forwarding.forward(view, place, route, match))
