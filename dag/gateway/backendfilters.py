"""Filters that differ between the backends of a rule, but that Envoy has only for whole routes.

The rule becomes several routes with the same match, one for each group of backends with equal
filters; each request goes to one of these routes by weight (HTTPBackendRef, `filters` and
`weight`). Envoy compares one random number of a request with the share of each route in turn, so
shares add up. Header changes and host names need no such routes: Envoy has them for each backend.
"""

from collections import defaultdict
from collections.abc import Iterator

from crds.gateway.httproute import HTTPRouteRule
from crds.records import replace
from dag.gateway import filters

MILLION = 1_000_000
"""The finest share that Envoy knows is one request of so many."""


def parts(rule: HTTPRouteRule) -> Iterator[tuple[HTTPRouteRule, int | None]]:
    """The rule for each group of backends, with the bound of its share of requests.

    The bound is a number from 0 to a MILLION: Envoy draws a number for a request, which goes to the
    first part with a greater bound. None: every request that gets this far. The backends keep their
    places in the rule; those of other groups get weight 0.
    """
    groups: defaultdict[filters.Whole, set[int]] = defaultdict(set)
    for index, reference in enumerate(rule.backend_refs):
        if reference.weight > 0:
            groups[filters.whole(rule, reference)].add(index)
    if len(groups) < 2 or rule.session_persistence is not None:
        yield rule, None
        return
    weights = [it.weight for it in rule.backend_refs]
    drawn, last = 0, list(groups.values())[-1]
    for group in groups.values():
        drawn += sum(weights[index] for index in group)
        yield _only(rule, group), None if group is last else drawn * MILLION // sum(weights)


def _only(rule: HTTPRouteRule, group: set[int]) -> HTTPRouteRule:
    backends = (
        it if index in group else replace(it, weight=0)
        for index, it in enumerate(rule.backend_refs)
    )
    return replace(rule, backend_refs=tuple(backends))
