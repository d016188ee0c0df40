"""Which of several routes with equal matches is served, and what the others are told.

On one host the oldest route takes the requests of a match, then the first by namespace and name
(HTTPRouteRule, `matches`); of routes of streams the oldest takes everything. Matches are found
through an index, so an edit wakes only the routes with which it shares a match. Elsewhere: the
order among different matches (`dag.ordering`), and among the three APIs (`dag.hosts`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from crds.meta import ObjectRef
from dag import nodes
from dag.engine.view import Index, View, query
from dag.gateway import attachment, owners, routes
from dag.gateway.attachment import Guest, Parent, Seat
from dag.problems import Problem
from dag.problems import gateway as problems


class Claim(NamedTuple):
    """Requests of a host that a route asks for."""

    seat: Seat
    match: nodes.Match | None
    """None: all connections or packets, for a route of streams."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Everything that a route asks for."""

    route: Guest
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
    seats = dict.fromkeys(seat for parent in found.parents for seat in parent.seats)
    return Claims(found.route, tuple(Claim(seat, match) for seat in seats for match in matches))


@query
def winner(view: View, claim: Claim) -> Guest:
    """The route that takes the requests of a claim that somebody makes."""
    return min(view.bucket(CLAIMED, claim))


def told(view: View, ref: ObjectRef, parent: Parent) -> Iterator[Problem]:
    """What a route loses to others on the listeners of a parent."""
    found = view.ask(claims, ref)
    if found is None:
        return
    seats = frozenset(it for it in parent.seats if _is_served(view, it))
    contested = [it for it in found.wanted if it.seat in seats]
    lost = [(it, won) for it in contested if (won := view.ask(winner, it)) != found.route]
    if lost:
        first = {won: claim for claim, won in reversed(lost)}
        examples = [_example(won, first[won]) for won in sorted(first)]
        is_whole = len(lost) == len(contested)
        yield problems.matches_taken(ref, examples, None if is_whole else len(lost))


def _is_served(view: View, seat: Seat) -> bool:
    """Whether requests for the host come to this listener, and not to a narrower one."""
    found = view.ask(owners.owner, seat.host)
    return found is not None and found.section == seat.section


def _example(won: Guest, claim: Claim) -> str:
    host = claim.seat.host.host
    where = "every host" if host == "*" else host
    return f"{won.ref} takes {_described(claim.match)} on {where}"


def _described(match: nodes.Match | None) -> str:
    if match is None:
        return "all connections"
    parts = [_path(match.path)]
    parts += [f"method {match.method}"] * bool(match.method)
    parts += [f"header {name}" for name in dict.fromkeys(it.name for it in match.headers)]
    parts += [f"query parameter {name}" for name in dict.fromkeys(it.name for it in match.queries)]
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


def _by_claim(_: ObjectRef, found: Claims) -> Iterator[tuple[Claim, Guest]]:
    return ((it, found.route) for it in found.wanted)


CLAIMED: Index[Claim, Guest] = Index("routes by host and match", claims, _by_claim)

INDEXES = (CLAIMED,)
KEPT = routes.kept(claims)
