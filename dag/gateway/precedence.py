"""Precedence of routes with equal matches: which one is served, and the problems of the others.

On one host, the route with the most specific host name takes the requests of a match, then the
oldest, then the first by `namespace/name` (HTTPRouteRule, `matches`). Of routes for streams, the
first takes everything. Matches are found through an index, so an edit wakes only the routes with
which it shares a match. Elsewhere: the order among different matches (`dag.ordering`), and among
the three APIs (`dag.hosts`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import dataclass, replace
from dag import nodes
from dag.engine.view import Index, View, query
from dag.gateway import attachment, routes, servedlisteners
from dag.gateway.attachment import Attachment, AttachmentPoint, Candidate, Parent, RankedRoute
from dag.problems import Problem
from dag.problems import gateway as problems


class Claim(NamedTuple):
    """A match of a route at one host: the requests that the route asks for there."""

    point: AttachmentPoint
    match: nodes.Match | None
    """None: all connections or packets, for a route of streams."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Everything that a route asks for."""

    attached: Attachment
    wanted: tuple[Claim, ...]


@query
def claims(view: View, ref: ObjectRef) -> Claims | None:
    """What a route asks for on the hosts to which it is attached; None if no parent is ours."""
    found = view.ask(attachment.attachment, ref)
    if found is None:
        return None
    rules = routes.rules(view, ref)
    is_stream = rules.stream is not None
    asked = (replace(it.match, drawn=None) for it in rules.routes)
    matches = (None,) if is_stream else tuple(dict.fromkeys(asked))
    points = dict.fromkeys(point for parent in found.parents for point in parent.points)
    return Claims(found, tuple(Claim(point, match) for point in points for match in matches))


@query
def winner(view: View, claim: Claim) -> RankedRoute:
    """The route that takes the requests of a claim."""
    return min(view.bucket(CLAIMED, claim)).route


def problems_of(view: View, ref: ObjectRef, parent: Parent) -> Iterator[Problem]:
    """The matches that a route loses to others on the listeners of a parent."""
    found = view.ask(claims, ref)
    if found is None:
        return
    points = frozenset(it for it in parent.points if _is_served(view, it))
    contested = [it for it in found.wanted if it.point in points]
    lost = [(it, won) for it in contested if (won := view.ask(winner, it)) != found.attached.route]
    if lost:
        first = {won: claim for claim, won in reversed(lost)}
        examples = [_example(won, first[won]) for won in sorted(first)]
        is_whole = len(lost) == len(contested)
        yield problems.matches_taken(ref, examples, None if is_whole else len(lost))


def _is_served(view: View, point: AttachmentPoint) -> bool:
    """Whether this listener owns the host, and not one with a narrower host."""
    found = view.ask(servedlisteners.owner, point.host)
    return found is not None and found.section == point.section


def _example(won: RankedRoute, claim: Claim) -> str:
    host = claim.point.host.host
    where = "every host" if host == "*" else host
    return f"{won.ref} takes {_described(claim.match)} on {where}"


def _described(match: nodes.Match | None) -> str:
    if match is None:
        return "all connections"
    parts = [_path(match.path)]
    parts += [f"method {match.method}"] * bool(match.method)
    parts += [f"header {name}" for name in dict.fromkeys(it.name for it in match.headers)]
    parts += [f"query parameter {name}" for name in dict.fromkeys(it.name for it in match.queries)]
    parts += [f"cookie {name}" for name in dict.fromkeys(it.name for it in match.cookies)]
    kind = "gRPC calls with " if match.is_grpc else ""
    return kind + ", ".join(parts)


def _path(path: nodes.Path) -> str:
    match path:
        case nodes.Exact(text):
            return f"path {text}"
        case nodes.Prefix(text) | nodes.Segments(text):
            return f"path prefix {text}"
        case nodes.Regex(expression):
            return f"path expression {expression}"


def _by_claim(_: ObjectRef, found: Claims) -> Iterator[tuple[Claim, Candidate]]:
    places = {it: found.attached.on(it) for it in {it.point.host.host for it in found.wanted}}
    return ((it, places[it.point.host.host]) for it in found.wanted)


CLAIMED: Index[Claim, Candidate] = Index("routes by host and match", claims, _by_claim)

INDEXES = (CLAIMED,)
KEPT = routes.kept(claims)
