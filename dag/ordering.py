"""In which order Envoy tries the routes of one virtual host.

The Gateway API's ladder (HTTPRouteRule.matches) for what it defines; upstream Contour puts
regular expressions between exact paths and prefixes. The order is stable: among routes that rank
alike, the ones given first are tried first, so each API gives its routes in its own order of
precedence.
"""

from collections.abc import Iterable

from dag import nodes


def in_order(routes: Iterable[nodes.Route]) -> tuple[nodes.Route, ...]:
    """The most specific match first."""
    return tuple(sorted(routes, key=_rank))


def _rank(route: nodes.Route) -> tuple[int, int, bool, bool, int, int]:
    match = route.match
    kind, length, is_string_prefix = _path_rank(match.path)
    return (
        kind,
        -length,
        is_string_prefix,
        not match.method,
        -len(match.headers),
        -len(match.queries),
    )


def _path_rank(path: nodes.Path) -> tuple[int, int, bool]:
    match path:
        case nodes.Exact(text):
            return 0, len(text), False
        case nodes.Regex(text):
            return 1, len(text), False
        case nodes.Segments(text):
            return 2, len(text), False
        case nodes.Prefix(text):
            return 2, len(text), True
