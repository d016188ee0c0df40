"""Includes: all routes at and below an HTTPProxy, each narrowed by the conditions that lead to it.

An include that leads nowhere answers 502 on its conditions; without conditions it is ignored, so
that the includer's own routes stay. Cycles are found by the trail from the root. The size of an
expansion is bounded, and an HTTPProxy is expanded completely or not at all: if it is not, its
include answers 502, and requests never fall through to a wider route. Source: Contour
documentation, "HTTPProxy Inclusion".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from crds import httpproxy as crd
from crds.conditions import MatchCondition
from crds.meta import NamespacedName
from dag import nodes, sizes
from dag.foreign import ignored
from dag.httpproxy import conditions, guards, included, owner, routes
from dag.httpproxy.included import IncludedProxy, Trail
from dag.httpproxy.routes import LocatedRoute, Scope
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place

MAX_ROUTES = 20_000
"""The most routes of a root, and the most includes that are followed."""

MAX_MEBIBYTES = 8
"""The most text of a root and of what it includes, with the conditions that each route inherits."""

FULL_NAMES = 10
"""The most names of a root for each of which it may have all of that. More names share it."""

BROKEN = nodes.Respond(502)
"""The answer of an include that leads nowhere."""


Item = IncludedProxy | LocatedRoute | Problem


@dataclass(slots=True)
class Walk:
    """One expansion: its scope, and how many more routes, includes and characters it may expand."""

    scope: Scope
    share: float = 1.0
    """The share of the limits that each name of the root has."""
    authorization: int = 0
    """The characters of the host's authorization, which each route with an `authPolicy` repeats."""
    routes: int = field(init=False)
    includes: int = field(init=False)
    size: int = field(init=False)
    _sizes: dict[NamespacedName, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.routes = self.includes = int(MAX_ROUTES * self.share)
        self.size = int((MAX_MEBIBYTES << 20) * self.share)

    def take(self, proxy: crd.HTTPProxy, inherited: nodes.Match) -> str:
        """Why not enough is left for an HTTPProxy, as the end of a sentence; empty if it is: then
        what it has is subtracted."""
        routes, includes = len(proxy.spec.routes), len(proxy.spec.includes)
        each = "" if self.share == 1 else " for each of its names"
        if routes > self.routes or includes > self.includes:
            return f"more than {int(MAX_ROUTES * self.share)} routes{each}"
        size = self._size(proxy) + (routes + includes) * sizes.size(inherited)
        policies = (it.auth_policy for it in proxy.spec.routes)
        size += self.authorization * sum(it is not None and not it.disabled for it in policies)
        if size > self.size:
            return f"more than {MAX_MEBIBYTES * self.share:.2g} MiB of routes{each}"
        self.routes -= routes
        self.includes -= includes
        self.size -= size
        return ""

    def _size(self, proxy: crd.HTTPProxy) -> int:
        key = proxy.metadata.key
        if key not in self._sizes:
            self._sizes[key] = sizes.size(proxy.spec)
        return self._sizes[key]


def begun(scope: Scope, root: crd.HTTPProxy) -> tuple[Walk, str]:
    """The walk from a root, and why it cannot be taken; empty if it can."""
    share = min(1.0, FULL_NAMES / max(1, len(owner.fqdns(root))))
    host = root.spec.virtualhost
    found = Walk(scope, share, sizes.size(host.authorization) if host is not None else 0)
    return found, found.take(root, nodes.Match())


def expand(walk: Walk, trail: Trail, inherited: nodes.Match) -> Iterator[Item]:
    """All routes at and below the end of the trail, which the walk has taken."""
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
        child = _child(walk, place, trail, include, match)
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


def _child(
    walk: Walk, place: Place, trail: Trail, include: crd.Include, inherited: nodes.Match
) -> crd.HTTPProxy:
    found = included.child(walk.scope.view, place, trail, include)
    if refusal := walk.take(found, inherited):
        raise Refused(problems.too_many_routes(place, refusal))
    return found
