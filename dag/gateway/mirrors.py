"""Request mirroring: where copies of the requests of a rule go ("HTTPRequestMirrorFilter").

Envoy discards the answers, so a mirror that leads nowhere is reported and harms no request.
"""

from collections.abc import Iterator

from crds.gateway.filters import HTTPRequestMirrorFilter
from crds.gateway.httproute import HTTPRouteRule
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, filters
from dag.problems import Problem
from dag.problems.places import Place


def mirrors(view: View, rule: HTTPRouteRule, at: Place) -> Iterator[nodes.Mirror | Problem]:
    """The mirrors of a rule, and problems for those that lead nowhere."""
    for place, found in filters.placed(rule, at):
        if found.request_mirror is not None:
            wanted = found.request_mirror
            where = place.at("requestMirror").at("backendRef")
            cluster = backends.cluster(view, wanted.backend_ref, where)
            if isinstance(cluster, Problem):
                yield cluster
            elif _numerator(wanted):
                yield nodes.Mirror(cluster, _numerator(wanted), _denominator(wanted))


def _numerator(wanted: HTTPRequestMirrorFilter) -> int:
    if wanted.fraction is not None:
        return wanted.fraction.numerator
    return 100 if wanted.percent is None else wanted.percent


def _denominator(wanted: HTTPRequestMirrorFilter) -> int:
    return wanted.fraction.denominator if wanted.fraction is not None else 100
