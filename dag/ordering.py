"""The order in which Envoy tries the routes of one virtual host.

It is the order of the Gateway API (HTTPRouteRule.matches) as far as that defines one; regular
expressions are between exact paths and prefixes, as in upstream Contour. A prefix of path segments
comes before the same string prefix with as many conditions. The order is stable: of routes that
rank alike, the ones given first are tried first, so each API gives its routes in its own order of
precedence. The Gateway API orders by the host names of routes before their matches: these come as
groups.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate

from crds.records import replace
from dag import nodes


def in_order(
    groups: Iterable[Iterable[nodes.Route]], others: Iterable[nodes.Route]
) -> tuple[nodes.Route, ...]:
    """The groups in turn, each with the most specific match first, and routes of other APIs in
    between.

    A route of another API comes after every route of a group whose match is at least as specific,
    and before the rest: with one group, all are in the order of their matches.
    """
    first = [it for group in groups for it in sorted(group, key=_rank)]
    # Each route is placed by the most specific rank from it on; others come after all of these.
    places = [*accumulate(map(_rank, reversed(first)), min)][::-1]
    placed = [*zip(places, first, strict=True), *((_rank(it), it) for it in others)]
    return tuple(it for _, it in sorted(placed, key=_place))


def not_shadowed(wanted: Iterable[nodes.Route]) -> Iterable[nodes.Route]:
    """The routes to which earlier ones leave some requests.

    A string prefix of one API covers the same prefix in path segments of the next.
    """
    first: dict[nodes.Match, nodes.Route] = {}
    for route in wanted:
        if covering(route, first) is None:
            first.setdefault(route.match, route)
    return first.values()


def covering(route: nodes.Route, first: Mapping[nodes.Match, nodes.Route]) -> nodes.Route | None:
    """The earlier route of another API that takes all requests of this one; None if there is
    none."""
    if not isinstance(route.match.path, nodes.Segments):
        return None
    wider = first.get(replace(route.match, path=nodes.Prefix(route.match.path.path)))
    return wider if wider is not None and wider.origin.kind != route.origin.kind else None


def tier(route: nodes.Route) -> tuple[int, int, bool]:
    """How specific the path of a route is, and whether it is for one method."""
    return _rank(route)[:3]


_Rank = tuple[int, int, bool, int, int, int, bool]


def _place(placed: tuple[_Rank, nodes.Route]) -> _Rank:
    return placed[0]


def _rank(route: nodes.Route) -> _Rank:
    match = route.match
    kind, length = _path_rank(match.path)
    return (
        kind,
        -length,
        not match.method,
        -len(match.headers),
        -len(match.queries),
        -len(match.cookies),
        isinstance(match.path, nodes.Prefix),
    )


def _path_rank(path: nodes.Path) -> tuple[int, int]:
    match path:
        case nodes.Exact(text):
            return 0, len(text)
        case nodes.Regex(text):
            return 1, len(text)
        case nodes.Segments(text) | nodes.Prefix(text):
            return 2, len(text)
