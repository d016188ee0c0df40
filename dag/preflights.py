"""CORS preflights of routes that are for one method.

A preflight is a request with the method OPTIONS, so a route for another method does not match it.
For each such route with a CORS policy, a route is added that matches only the preflights of its
requests: Envoy answers all of these, so none reaches a backend. Added routes come after those with
equally specific paths and methods, so a route for OPTIONS takes precedence. For a route without a
policy one that answers 404 is added, so that the policy of a later one does not answer.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from crds.records import replace
from dag import nodes, ordering

NOT_FOUND = nodes.Respond(404)


def added(
    routes: Sequence[nodes.Route], of_host: nodes.Cors | nodes.Off | None
) -> Iterator[nodes.Route]:
    """The routes of a host in their order, with those for preflights added. `of_host` is the CORS
    policy of routes without one."""
    left = Counter(it.match.method for it in routes if _is_answered(it, of_host))
    if not left:
        yield from routes  # as on most hosts
        return
    for _, tier in groupby(routes, ordering.tier):
        several = list(tier)
        yield from several
        for it in several:
            if _is_answered(it, of_host):
                left[it.match.method] -= 1
                yield replace(it, match=_preflight(it.match))
            elif left[it.match.method]:
                yield replace(it, match=_preflight(it.match), action=NOT_FOUND, policies=None)


def takes_only(match: nodes.Match) -> bool:
    """Whether a match is for preflights alone."""
    names = {it.name for it in match.headers}
    return match.method == _METHOD and {_ORIGIN, _ASKED} <= names


def _is_answered(route: nodes.Route, of_host: nodes.Cors | nodes.Off | None) -> bool:
    """Whether Envoy is to answer the preflights of a route that does not match them itself."""
    own = route.policies.cors if route.policies is not None else None
    is_for_another = route.match.method not in {"", _METHOD}
    is_policy = isinstance(of_host if own is None else own, nodes.Cors)
    return is_for_another and is_policy and isinstance(route.action, nodes.Forward)


def _preflight(match: nodes.Match) -> nodes.Match:
    origin = nodes.HeaderMatch(_ORIGIN, nodes.ValueMatch("regex", ".+"))
    method = nodes.ValueMatch("exact", match.method)
    asked = nodes.HeaderMatch(_ASKED, method)
    return replace(match, method=_METHOD, headers=(*match.headers, origin, asked))


_METHOD, _ORIGIN, _ASKED = "OPTIONS", "origin", "access-control-request-method"
