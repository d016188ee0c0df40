"""What an HTTPRoute asks for, whichever hosts it is attached to: its rules as routes.

Gateway API, "HTTPRouteRule". One route for each match of each rule, in the order they are written.
Elsewhere: the hosts (`attachment`, `hosts`), rules and their matches (`httprules`), what only a
listener knows (`completion`).
"""

from crds.gateway.matches import HTTPRouteMatch
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import View, query
from dag.gateway import httprules, matches
from dag.gateway.rules import Rules
from dag.problems import gateway as problems


@query
def rules(view: View, key: NamespacedName) -> Rules:
    """What the rules of a route ask for."""
    route = view.read(tables.HTTPROUTES, key)
    if route is None:
        return Rules()
    own = problems.route(ObjectRef("HTTPRoute", *key))
    asked = [(it, it.matches) for it in route.spec.rules]
    return httprules.rules(view, own, route, asked, _MATCHING)


_MATCHING = httprules.Matching(HTTPRouteMatch(), matches.refusals, matches.node)
