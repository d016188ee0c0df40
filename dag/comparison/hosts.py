"""How the routes of one host differ between two worlds."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice, product
from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import replace
from dag import hosts, listeners, nodes
from dag.comparison import Difference, Harm, effects, requests
from dag.evaluation import evaluator, matching
from dag.evaluation.places import World
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from dag.findings.routes import shown
from dag.values import hostnames

Taken = tuple[nodes.VirtualHost, nodes.Route]
"""A host, and its route that takes a request."""


def differences(before: World, after: World, key: nodes.HostKey) -> Iterator[Difference]:
    """Each request that is answered differently, told once for each pair of routes."""
    old, new = _serving(before, key), _serving(after, key)
    if old == new:
        return
    told: set[tuple[nodes.Route | None, nodes.Route | None]] = set()
    listener = nodes.ListenerKey(key.fleet, key.listener)
    at = after.answer(listeners.listener, listener) or before.answer(listeners.listener, listener)
    for match in _matches(old, new):
        for request in requests.made_up(key.host, at, match):
            found = _Pair(_taking(old, request), _taking(new, request), match)
            for it in _told(key, found, told):
                yield it._replace(example=_example(before, after, it, request))
        if isinstance(match.path, nodes.Regex):
            found = _Pair(_having(old, match), _having(new, match), match)
            yield from _told(key, found, told)


class _Pair(NamedTuple):
    """What two sides do with a request."""

    old: Taken | None
    new: Taken | None
    match: nodes.Match

    @property
    def routes(self) -> tuple[nodes.Route | None, nodes.Route | None]:
        return (self.old[1] if self.old else None, self.new[1] if self.new else None)


def _serving(world: World, key: nodes.HostKey) -> nodes.VirtualHost | None:
    """The virtual host that has the requests for a host: its own, or a wider one."""
    keys = (key._replace(host=it) for it in hostnames.covering(key.host))
    found = (world.answer(hosts.virtual_host, it) for it in keys)
    return next((it for it in found if it is not None), None)


def _matches(*sides: nodes.VirtualHost | None) -> Iterator[nodes.Match]:
    """Those of all routes; and of what is not on both sides, what it shares with the others."""
    routes = [side.routes if side is not None else () for side in sides]
    every = list(dict.fromkeys(it.match for side in routes for it in side))
    yield from every
    changed = dict.fromkeys(it.match for it in _changed(*routes))
    for one, other in islice(product(changed, every), _MOST_PAIRS):
        if one != other and (both := requests.joined(one, other)) is not None:
            yield both


_MOST_PAIRS = 10_000
"""Pairs of matches of a host that are looked at for requests that both take."""


def _changed(old: tuple[nodes.Route, ...], new: tuple[nodes.Route, ...]) -> Iterator[nodes.Route]:
    """The routes that came, went, or stand elsewhere."""
    for tag, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            yield from old[start:end]
            yield from new[first:last]


def _taking(side: nodes.VirtualHost | None, request: Request) -> Taken | None:
    for route in side.routes if side is not None else ():
        if (
            route.match.drawn is None
            and next(matching.failures(route.match, request), None) is None
        ):
            return (side, route) if side is not None else None
    return None


def _having(side: nodes.VirtualHost | None, match: nodes.Match) -> Taken | None:
    for route in side.routes if side is not None else ():
        if route.match == match:
            return (side, route) if side is not None else None
    return None


def _told(
    key: nodes.HostKey,
    found: _Pair,
    told: set[tuple[nodes.Route | None, nodes.Route | None]],
) -> Iterator[Difference]:
    if found.routes in told:
        return
    told.add(found.routes)
    whose = tuple(sorted({it.origin for it in found.routes if it is not None}))
    for it in effects.changes(found.old, found.new):
        harm = _harm(found.old, found.new, it)
        yield Difference(key, shown(found.match), it.aspect, it.before, it.after, whose, harm)


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
    return replace(answer, route=None, cause="", may_be_refused=False)


def _harm(old: Taken | None, new: Taken | None, change: effects.Change) -> Harm | None:
    if change.is_loss:
        return "unguarded"
    if change.aspect != "answer" or not _serves(old):
        return None
    return None if _serves(new) else "closed"


def _serves(found: Taken | None) -> bool:
    """Whether requests are forwarded or sent elsewhere, and not just refused."""
    if found is None:
        return False
    action = found[1].action
    if isinstance(action, nodes.Respond):
        return action.status < 400
    return not isinstance(action, nodes.Forward) or any(it.cluster for it in action.backends)


def origins(*sides: nodes.VirtualHost | nodes.SecureHost | None) -> tuple[ObjectRef, ...]:
    """The objects that have a say in a host, on either side."""
    return tuple(sorted({it for side in sides if side is not None for it in side.origins}))
