"""Includes: all routes at and below an HTTPProxy, each narrowed by the conditions that lead to it.

An include that leads nowhere answers 502 on its conditions; without conditions it is ignored, so
that the includer's own routes stay. Cycles are found by the trail from the root. The size of an
expansion is bounded, and an HTTPProxy is expanded completely or not at all: if it is not, its
include answers 502, and requests never fall through to a wider route. Source: Contour
documentation, "HTTPProxy Inclusion".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from crds import httpproxy as crd
from crds.conditions import MatchCondition
from dag import nodes
from dag.foreign import ignored
from dag.httpproxy import conditions, guards, included, routes
from dag.httpproxy.included import IncludedProxy, Trail
from dag.httpproxy.routes import LocatedRoute, Scope
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place

MAX_ROUTES = 20_000
"""The most routes of a root, and the most includes that are followed."""

BROKEN = nodes.Respond(502)
"""The answer of an include that leads nowhere."""


Item = IncludedProxy | LocatedRoute | Problem


@dataclass(slots=True)
class Walk:
    """One expansion: its scope, and how many more routes and includes it may expand."""

    scope: Scope
    routes: int = MAX_ROUTES
    includes: int = MAX_ROUTES

    def covers(self, proxy: crd.HTTPProxy) -> bool:
        """Whether enough is left for an HTTPProxy; if so, subtracts its routes and includes."""
        routes, includes = len(proxy.spec.routes), len(proxy.spec.includes)
        if routes > self.routes or includes > self.includes:
            return False
        self.routes -= routes
        self.includes -= includes
        return True


def walk(scope: Scope, root: crd.HTTPProxy) -> Iterator[Item]:
    """All routes at and below a root."""
    steps = Walk(scope)
    if steps.covers(root):
        yield from expand(steps, (root,), nodes.Match())


def expand(walk: Walk, trail: Trail, inherited: nodes.Match) -> Iterator[Item]:
    """All routes at and below the end of the trail, which the walk covers."""
    proxy = trail[-1]
    place = problems.spec(proxy.metadata.key)
    yield IncludedProxy(proxy.metadata.key)
    first: dict[nodes.Match, int] = {}
    for index in range(len(proxy.spec.includes)):
        yield from _include(walk, trail, index, inherited, first)
    scope = walk.scope
    if ignored.closing(scope.view, problems.KIND, proxy.metadata):
        scope = scope._replace(host=guards.CLOSED)
    for index, route in enumerate(proxy.spec.routes):
        yield from routes.written(scope, place.at("routes", index), route, inherited)


def _include(
    walk: Walk, trail: Trail, index: int, inherited: nodes.Match, first: dict[nodes.Match, int]
) -> Iterator[Item]:
    include = trail[-1].spec.includes[index]
    place = problems.spec(trail[-1].metadata.key).at("includes", index)
    try:
        match = _narrowed(place, include, inherited)
        if not _is_open(include) and first.setdefault(match, index) != index:
            raise Refused(problems.duplicate_include(place, first[match]))
    except Refused as refused:
        yield refused.problem
        return
    try:
        child = _child(walk, place, trail, include)
    except Refused as refused:
        yield refused.problem
        if not _is_open(include):
            yield routes.LocatedRoute(nodes.Route(match, BROKEN, place.subject), place)
        return
    yield from expand(walk, (*trail, child), match)


def _narrowed(place: Place, include: crd.Include, inherited: nodes.Match) -> nodes.Match:
    conditions.check_by_prefix(place, include.conditions)
    return conditions.narrowed(place, inherited, include.conditions)


def _is_open(include: crd.Include) -> bool:
    """Whether the include has no conditions: it takes every request that its includer gets."""
    return all(it in (MatchCondition(), _EVERY_PATH) for it in include.conditions)


_EVERY_PATH = MatchCondition(prefix="/")


def _child(walk: Walk, place: Place, trail: Trail, include: crd.Include) -> crd.HTTPProxy:
    found = included.child(walk.scope.view, place, trail, include)
    if not walk.covers(found):
        raise Refused(problems.too_many_routes(place, MAX_ROUTES))
    return found
