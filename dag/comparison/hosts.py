"""How the routes of one host differ between two worlds."""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import replace
from dag import hosts, listeners, nodes
from dag.comparison import Difference, Harm, Uncompared, effects, requests, unreached
from dag.comparison.unreached import Routes, Takers
from dag.evaluation import evaluator, matching, places
from dag.evaluation.places import World
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from dag.findings.routes import covers, shown
from dag.values import hostnames


def differences(
    before: World, after: World, key: nodes.HostKey
) -> Iterator[Difference | Uncompared]:
    """Each request that is answered differently, told once for each pair of routes."""
    sides = _Sides(_serving(before, key), _serving(after, key))
    if sides.old == sides.new:
        return
    old, new = sides.routes
    told: set[Takers] = set()
    reached: set[int] = set()
    listener = nodes.ListenerKey(key.fleet, key.listener)
    at = after.answer(listeners.listener, listener) or before.answer(listeners.listener, listener)
    for match, request in _requests(key.host, at, old, new):
        for takers in _pairs(_taking(old, request), _taking(new, request)):
            reached.update(map(id, takers))
            for it in _told(key, sides, takers, match, told):
                yield it._replace(example=_example(before, after, it, request))
    for left in unreached.routes(key.host, old, new, reached):
        match = left.route.match
        if left.takers is None:
            yield Uncompared(key, shown(match), (left.route.origin,))
        else:
            yield from _told(key, sides, left.takers, match, told)


_Served = nodes.VirtualHost | nodes.Respond


class _Sides(NamedTuple):
    """The virtual hosts that serve a host before and after, or the answer where none does."""

    old: _Served
    new: _Served

    @property
    def routes(self) -> tuple[Routes, Routes]:
        return _routes(self.old), _routes(self.new)


def _routes(side: _Served) -> Routes:
    return side.routes if isinstance(side, nodes.VirtualHost) else ()


_NOT_FOUND = nodes.Respond(404)


def _serving(world: World, key: nodes.HostKey) -> _Served:
    """The virtual host that gets the requests for a host: its own, or one with a wider name."""
    for name in hostnames.covering(key.host):
        at = key._replace(host=name)
        if places.is_misdirected(world, at):
            return nodes.Respond(421)
        found = world.answer(hosts.virtual_host, at)
        if found is not None:
            return found
    return _NOT_FOUND


def _requests(
    host: str, at: nodes.Listener | None, old: Routes, new: Routes
) -> Iterator[tuple[nodes.Match, Request]]:
    """Requests for all routes, each once, with the match for which it was made."""
    seen: set[Request] = set()
    for match, asked in _matches(old, new):
        for request in requests.made_up(host, at, *asked):
            if request not in seen:
                seen.add(request)
                yield match, request


def _matches(old: Routes, new: Routes) -> Iterator[tuple[nodes.Match, tuple[nodes.Match, ...]]]:
    """The matches of all routes. For each changed route also: its overlaps with other matches, and
    what these leave to it. Each comes with the matches that it is made of."""
    every = list(dict.fromkeys(it.match for it in (*old, *new)))
    yield from ((it, (it,)) for it in every)
    changed = dict.fromkeys(it.match for it in _changed(old, new))
    for one, other in islice(_meetings(changed, every), _MOST_PAIRS):
        both = requests.joined(one, other)
        if both is not None and not covers(one, other) and not covers(other, one):
            yield both, (one, other)
    for one in changed:
        if (rest := requests.others_left(one, every)) is not None:
            yield one, (one, rest)


_MOST_PAIRS = 10_000
"""The most pairs of matches of one host for which requests that satisfy both are looked for."""


def _meetings(
    some: Iterable[nodes.Match], every: Iterable[nodes.Match]
) -> Iterator[tuple[nodes.Match, nodes.Match]]:
    """Each pair of one of `some` and another one of `every`, once."""
    left = dict.fromkeys(every)
    for one in some:
        del left[one]
        yield from ((one, other) for other in left)


def _changed(old: Routes, new: Routes) -> Iterator[nodes.Route]:
    """The routes that were added, removed, or moved to another place in the order."""
    for tag, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            yield from old[start:end]
            yield from new[first:last]


def _taking(routes: Routes, request: Request) -> list[nodes.Route | None]:
    """The routes that take a request: those that get a drawn share of it, then the one that gets
    the rest; None if no route does."""
    found: list[nodes.Route | None] = []
    for route in routes:
        if next(matching.failures(route.match, request), None) is None:
            found.append(route)
            if route.match.drawn is None:
                return found
    return [*found, None]


def _pairs(old: list[nodes.Route | None], new: list[nodes.Route | None]) -> Iterator[Takers]:
    """The takers of both sides, share by share; the side with fewer repeats its last one."""
    for number in range(max(len(old), len(new))):
        yield old[min(number, len(old) - 1)], new[min(number, len(new) - 1)]


def _told(
    key: nodes.HostKey, sides: _Sides, takers: Takers, match: nodes.Match, told: set[Takers]
) -> Iterator[Difference]:
    if takers in told:
        return
    told.add(takers)
    whose = tuple(sorted({it.origin for it in takers if it is not None}))
    for it in effects.changes(*map(_taken, sides, takers)):
        harm = _harm(*takers, it)
        yield Difference(key, shown(match), it.aspect, it.before, it.after, whose, harm)


def _taken(side: _Served, route: nodes.Route | None) -> effects.Taken:
    if isinstance(side, nodes.Respond):
        return side
    return (side, route) if route is not None else _NOT_FOUND


def _example(before: World, after: World, found: Difference, request: Request) -> Request | None:
    """The request; None where both worlds answer it alike, since neither lets it pass.

    A listener may refuse the header that a condition names, or a guard every client without a
    token. Where something else than the answer differs, reaching another route is enough.
    """
    worlds = (before, after)
    old, new = (evaluator.evaluate(it, found.place.fleet, request).answer for it in worlds)
    if found.aspect == "answer":
        old, new = _seen(old), _seen(new)
    return request if old != new else None


def _seen(answer: Answer) -> Answer:
    """What clients and backends see of an answer."""
    return replace(answer, route=None, cause="", may_be_refused=False, hides_backends=False)


def _harm(old: nodes.Route | None, new: nodes.Route | None, change: effects.Change) -> Harm | None:
    if change.is_loss:
        return "unguarded"
    if change.aspect != "answer" or not _serves(old):
        return None
    return None if _serves(new) else "closed"


def _serves(route: nodes.Route | None) -> bool:
    """Whether requests are forwarded or sent elsewhere, and not just refused."""
    if route is None:
        return False
    action = route.action
    if isinstance(action, nodes.Respond):
        return action.status < 400
    return not isinstance(action, nodes.Forward) or any(it.cluster for it in action.backends)


def origins(*sides: nodes.VirtualHost | nodes.SecureHost | None) -> tuple[ObjectRef, ...]:
    """The objects that have a say in a host, on either side."""
    return tuple(sorted({it for side in sides if side is not None for it in side.origins}))
