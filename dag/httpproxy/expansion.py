"""The expansion of a root: everything that it and what it includes want for its host.

Whether the root owns its host is decided elsewhere (`owner`): one that lost is expanded too, so
that statuses show every mistake in it and in what it includes. Of two routes for the same requests,
the one written last is served, and an includer's own before those that it includes, as in upstream
Contour. Elsewhere: the walk (`includes`), and what plain HTTP and TLS get of the routes
(`schemes`).
"""

from collections.abc import Iterable, Iterator, Mapping

from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from crds.records import dataclass, replace
from crds.unserved import unserved
from dag import nodes, tables
from dag.configuration import settings
from dag.engine.view import Index, View, query
from dag.foreign import ignored
from dag.httpproxy import guards, includes, owner, routes, schemes
from dag.httpproxy.included import IncludedProxy
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.problems.places import gathered


@dataclass(frozen=True, slots=True)
class Expansion:
    """What became of a root."""

    claim: nodes.Claim | None
    problems: tuple[Problem, ...]
    included: tuple[NamespacedName, ...]


@query
def expansion(view: View, key: NamespacedName) -> Expansion | None:
    """What a root wants for its host; None if it is no root, or not for this controller."""
    root = view.read(tables.HTTPPROXIES, key)
    if root is None or root.spec.virtualhost is None or not owner.is_ours(view, root):
        return None
    if not owner.fqdns(root):
        return Expansion(None, (), (key,))
    if not owner.is_allowed_in(view, key.namespace):
        allowed = view.ask(settings.root_namespaces, ())
        refusal = problems.root_not_allowed(problems.spec(key), allowed)
        return Expansion(None, (refusal,), (key,))
    walk, too_much = includes.begun(routes.Scope(view), root)
    if too_much:
        return _too_large(view, root, too_much)
    return _expansion(view, root, walk)


def _too_large(view: View, root: HTTPProxy, refusal: str) -> Expansion:
    """The expansion of a root that has too much to be read. It answers all requests for its host
    with 503: a wider host must not take them past its guards."""
    place = problems.spec(root.metadata.key)
    every = nodes.Route(nodes.Match(), schemes.UNSERVED, place.subject)
    wanted = schemes.claim(view, root, guards.CLOSED, (routes.LocatedRoute(every, place),))
    claim = next(it for it in wanted if isinstance(it, nodes.Claim))
    told = problems.too_many_routes(place, refusal)
    return Expansion(claim, (told,), (root.metadata.key,))


def _expansion(view: View, root: HTTPProxy, walk: includes.Walk) -> Expansion:
    guarded, told = gathered(guards.of_host(view, root))
    strange = ignored.closing(view, problems.KIND, root.metadata)
    if strange or any(it.guards for it in unserved(root.spec.virtualhost)):
        guarded = guards.CLOSED
    walk.scope = routes.Scope(view, guarded)
    walked = tuple(includes.expand(walk, (root,), nodes.Match()))
    written = [it for it in walked if isinstance(it, routes.LocatedRoute)]
    winners = {it.route.match: it for it in written}
    served = (*winners.values(), *_implied(winners))
    wanted = tuple(schemes.claim(view, root, guarded, served))
    everything = (*_lacking(root), *told, *wanted, *walked, *_losers(written, winners))
    return Expansion(
        next((it for it in wanted if isinstance(it, nodes.Claim)), None),
        tuple(dict.fromkeys(it for it in everything if isinstance(it, Problem))),
        tuple(dict.fromkeys(it.key for it in everything if isinstance(it, IncludedProxy))),
    )


def _lacking(root: HTTPProxy) -> Iterator[Problem]:
    """A root that serves nothing. Its guards hold for the routes that other APIs have for its host,
    so that none of these is opened when its last route moves there."""
    if not (root.spec.routes or root.spec.includes or root.spec.tcpproxy):
        yield problems.nothing_defined(problems.spec(root.metadata.key))


def _implied(
    winners: Mapping[nodes.Match, routes.LocatedRoute],
) -> Iterator[routes.LocatedRoute]:
    """What routes take besides, where no route is written that takes the same requests."""
    written: dict[nodes.Path, list[nodes.Match]] = {}
    for own in winners:
        written.setdefault(own.path, []).append(own)
    for it in winners.values():
        if it.implied is None:
            continue
        match = replace(it.route.match, path=it.implied)
        others = written.get(nodes.Prefix(it.implied.path), ())
        if not any(_asks_no_more(other, match) for other in others):
            yield it._replace(route=replace(it.route, match=match))


def _asks_no_more(match: nodes.Match, than: nodes.Match) -> bool:
    """Whether a match has no condition, beside its path, that another one has not."""
    more = {*match.headers} - {*than.headers} or {*match.queries} - {*than.queries}
    return match.method in ("", than.method) and not more


def _losers(
    written: Iterable[routes.LocatedRoute], winners: Mapping[nodes.Match, routes.LocatedRoute]
) -> Iterator[Problem]:
    for it in written:
        winner = winners[it.route.match]
        if winner is not it and it.route.action is not includes.BROKEN:
            yield problems.duplicate_route(it.place, winner.place)


# Reports of expansions by HTTPProxy: the cost of a status follows the reports about that object.

REACHED = None
"""The report that some root reaches an HTTPProxy."""


def _reports(
    _: NamespacedName, found: Expansion
) -> Iterator[tuple[NamespacedName, Problem | None]]:
    yield from ((key, REACHED) for key in found.included)
    yield from ((it.subject.key, it) for it in found.problems)


REPORTS: Index[NamespacedName, Problem | None] = Index("reports", expansion, _reports)


def _root(key: NamespacedName, proxy: HTTPProxy) -> Iterator[tuple[NamespacedName, None]]:
    if proxy.spec.virtualhost is not None:
        yield key, None


ROOTS: Index[NamespacedName, None] = Index("roots", tables.HTTPPROXIES, _root)

INDEXES = (REPORTS, ROOTS)
