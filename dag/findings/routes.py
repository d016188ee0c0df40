"""Routes that never get a request: an earlier one of their host takes every request from them.

Envoy takes the first route that matches. A route is covered by an earlier one whose path is at
least as wide and whose other conditions are a part of its own. Regular expressions are compared as
texts only, so what one covers is not found.
"""

from collections.abc import Iterator

from crds.meta import ObjectRef
from dag import hosts, nodes, preflights
from dag.engine.incremental import Engine
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code


def check(engine: Engine) -> Steps:
    """Looks at every virtual host once; a route on several listeners is reported once."""
    told: set[tuple[ObjectRef, nodes.Match, str]] = set()
    for key, found in engine.answers(hosts.virtual_host):
        yield None
        if found is None:
            continue
        shadowed = [*hosts.shadowed_routes(engine, key), *_covered(found.routes)]
        for loser, winner in shadowed:
            mark = (loser.origin, loser.match, key.host)
            if mark not in told:
                told.add(mark)
                yield _told(key.host, loser, winner)


def _told(host: str, loser: nodes.Route, winner: nodes.Route) -> Finding:
    own = loser.origin == winner.origin
    whose = "another of its routes" if own else f"a route of {winner.origin}"
    text = f"on {host} no request reaches the route for {shown(loser.match)}: {whose}"
    return Finding(Code.RouteShadowed, loser.origin, "", f"{text} ({shown(winner.match)}) is first")


def _covered(routes: tuple[nodes.Route, ...]) -> Iterator[tuple[nodes.Route, nodes.Route]]:
    """Each route that an earlier one covers, with the first that does. Those for preflights are
    ours, and nobody can change them."""
    earlier: dict[nodes.Path, list[nodes.Route]] = {}
    for route in routes:
        if preflights.takes_only(route.match):
            continue
        winner = _first(route, earlier)
        if winner is not None:
            yield route, winner
        else:
            earlier.setdefault(route.match.path, []).append(route)


def _first(route: nodes.Route, earlier: dict[nodes.Path, list[nodes.Route]]) -> nodes.Route | None:
    for path in _wider(route.match.path):
        for other in earlier.get(path, ()):
            if _asks_less(other.match, route.match):
                return other
    return None


def covers(wider: nodes.Match, match: nodes.Match) -> bool:
    """Whether one match takes every request that the other takes, as far as that can be told."""
    return wider.path in _wider(match.path) and _asks_less(wider, match)


def _wider(path: nodes.Path) -> Iterator[nodes.Path]:
    """The path itself, and those that match whatever it matches, as far as these can be listed."""
    yield path
    if isinstance(path, nodes.Regex):
        yield nodes.Prefix("/")
        return
    if not isinstance(path, nodes.Prefix):
        yield from (nodes.Segments(it) for it in _ancestors(path.path))
        yield nodes.Prefix(path.path)
    yield from (nodes.Prefix(path.path[:end]) for end in range(1, len(path.path)))


def _ancestors(path: str) -> Iterator[str]:
    """`/a/b` and `/a` of `/a/b`."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _asks_less(wider: nodes.Match, match: nodes.Match) -> bool:
    """Whether the conditions beside the path are all among those of the other."""
    return (
        (not wider.method or wider.method == match.method)
        and (wider.is_grpc <= match.is_grpc)
        and wider.drawn is None
        and set(wider.headers) <= set(match.headers)
        and set(wider.queries) <= set(match.queries)
        and set(wider.cookies) <= set(match.cookies)
    )


def shown(match: nodes.Match) -> str:
    """A match as people read it: `GET /cart and below, with 1 header`."""
    conditions = [
        f"{count} {noun}{'s' if count > 1 else ''}"
        for count, noun in (
            (sum(not it.name.startswith(":") for it in match.headers), "header condition"),
            (len(match.queries), "query condition"),
            (len(match.cookies), "cookie condition"),
        )
        if count
    ]
    rest = f", with {' and '.join(conditions)}" if conditions else ""
    return f"{match.method} {_path(match.path)}".strip() + rest


def _path(path: nodes.Path) -> str:
    match path:
        case nodes.Exact():
            return f"exactly {path.path}"
        case nodes.Prefix():
            return f"{path.path}*"
        case nodes.Segments():
            return f"{path.path} and below"
        case nodes.Regex():
            return f"the expression {path.expression}"
