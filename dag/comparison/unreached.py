"""Routes that no made-up request reaches: who takes their requests on the other side, if known.

A route there takes them that asks for no more than this one. In front of it may only be routes
that take none of them: those that ask for something else, and those that are in front of this one
on its own side, too.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from dag import nodes
from dag.comparison import requests
from dag.findings.routes import covers

Routes = tuple[nodes.Route, ...]
Takers = tuple[nodes.Route | None, nodes.Route | None]
"""Which route takes a request before and after; None: no route does."""


class Unreached(NamedTuple):
    """A route whose requests are not known."""

    route: nodes.Route
    takers: Takers | None
    """Of all its requests; None where that is not known, either."""


def routes(host: str, old: Routes, new: Routes, reached: Collection[int]) -> Iterator[Unreached]:
    """Each such route once. `reached` are the identities of all others.

    Where requests could be made up, but earlier routes take all of them, few others are left, if
    any: then it is told only of routes that are not on both sides.
    """
    seen: set[nodes.Match] = set()
    for is_new, side, other in ((False, old, new), (True, new, old)):
        for place, route in enumerate(side):
            if id(route) in reached or route.match in seen or _is_shadowed(side, place):
                continue
            seen.add(route.match)
            if next(requests.made_up(host, None, route.match), None) is not None:
                if route not in other:
                    yield Unreached(route, None)
                continue
            try:
                found = _taker(side, place, other)
            except _UnclearError:
                yield Unreached(route, None)
            else:
                yield Unreached(route, (found, route) if is_new else (route, found))


class _UnclearError(Exception):
    """Some routes may take some of the requests, and it is not known which."""


def _is_shadowed(side: Routes, place: int) -> bool:
    """Whether a route gets no request, since an earlier one takes all of them."""
    match = side[place].match
    return any(covers(it.match, match) for it in side[:place])


def _taker(side: Routes, place: int, others: Routes) -> nodes.Route | None:
    """The route of the other side that takes all requests of the one at this place; None if no
    route takes any. Raises _UnclearError."""
    match = side[place].match
    earlier = {it.match for it in side[:place]}
    for it in others:
        if it.match in earlier or requests.joined(it.match, match) is None:
            continue
        if it.match == match or covers(it.match, match):
            return it
        raise _UnclearError
    return None
