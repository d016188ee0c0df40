"""Routes that no made-up request reaches: which route takes their requests on the other side.

That is a route with no conditions that this one does not have. All routes before it must take none
of these requests: they ask for something else, or they also precede this one on its own side.
Otherwise it is not known.
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
    """The routes that take all its requests; None if that is not known, either."""


def routes(host: str, old: Routes, new: Routes, reached: Collection[int]) -> Iterator[Unreached]:
    """Each such route once. `reached` has the `id` of every route that a request has reached.

    If requests can be made up for a route, but earlier routes take all of them, it gets few others,
    if any: such a route is reported only if it is on one side alone.
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
