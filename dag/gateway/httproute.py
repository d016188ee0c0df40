"""What an HTTPRoute asks for, whichever hosts it is attached to: its rules as routes.

Gateway API, "HTTPRouteRule". One route for each match of each rule, in the order they are
written. Elsewhere: the hosts (`attachment`, `hosts`), what makes a route of a match (`ruling`),
what only a listener knows (`completion`).
"""

from collections.abc import Iterator

from crds.gateway.httproute import HTTPRouteRule
from crds.gateway.known import UnknownValue, unknown_values
from crds.gateway.matches import HTTPRouteMatch
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import UnservedField, unserved
from dag import nodes, tables
from dag.gateway import matches, ruling
from dag.gateway.rules import Rules
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View, query


@query
def rules(view: View, key: NamespacedName) -> Rules:
    """What the rules of a route ask for."""
    route = view.read(tables.HTTPROUTES, key)
    if route is None:
        return Rules()
    own = problems.route(ObjectRef("HTTPRoute", *key))
    marked, strange = unserved(route), unknown_values(route)
    found = [
        tuple(_rule(view, rule, own.at("rules", index), marked, strange))
        for index, rule in enumerate(route.spec.rules)
    ]
    more = ruling.unharmful(own, marked, strange)
    return ruling.together(view, own.subject, route.spec.rules, found, more)


def _rule(
    view: View,
    rule: HTTPRouteRule,
    at: Place,
    marked: tuple[UnservedField, ...],
    strange: tuple[UnknownValue, ...],
) -> Iterator[nodes.Route | Problem]:
    wanted = rule.matches or (HTTPRouteMatch(),)
    unmatched = [
        problem
        for index, match in enumerate(wanted)
        for problem in matches.refusals(match, at.at("matches", index))
    ]
    closing = list(ruling.closing(marked, strange, at))
    yield from (*unmatched, *closing)
    is_unmatched = unmatched or any(it.path.startswith(f"{at.path}.matches[") for it in strange)
    taken = [] if is_unmatched else [matches.node(it) for it in wanted]
    yield from ruling.routes(view, rule, taken, at, closed=bool(closing))
