"""What becomes of the requests of a rule: sent on by weight, sent elsewhere, or answered.

Filters of a backend apply to its share alone. Envoy rewrites paths, redirects and copies per route,
so those have to be the same for every backend of a rule; header changes and host names may differ.
"""

from collections.abc import Iterator, Mapping, Sequence

from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, filters, mirrors, timeouts
from dag.problems import Problem
from dag.problems.places import Place

NOWHERE: Mapping[str, int] = {"HTTPRoute": 500, "GRPCRoute": 503}
"""What is answered where there is no backend; 503 is UNAVAILABLE to a gRPC client."""


def nowhere(kind: str) -> nodes.Respond:
    """The answer of a rule that leads nowhere."""
    return nodes.Respond(NOWHERE[kind])


def action(view: View, rule: HTTPRouteRule, at: Place) -> Iterator[nodes.Action | Problem]:
    """What answers the requests of a rule, and what is wrong with its references."""
    wanted = (*rule.filters, *filters.shared(rule))
    redirect = filters.redirect(wanted)
    if redirect is not None:
        yield redirect
        return
    found = list(backends.clusters(view, rule.backend_refs, at))
    yield from (it for it in found if isinstance(it, Problem))
    clusters = [it for it in found if not isinstance(it, Problem)]
    shares = tuple(_shares(rule, clusters))
    if not any(it.cluster for it in shares):
        yield nowhere(at.subject.kind)
        return
    copies = tuple(mirrors.mirrors(view, rule, at))
    yield from (it for it in copies if isinstance(it, Problem))
    yield nodes.Forward(
        backends=shares,
        timeout=timeouts.timeout(rule),
        rewrite=filters.rewrite(wanted),
        retry=timeouts.retry(rule),
        websockets=any(backends.is_for_websockets(view, it.cluster) for it in shares),
        mirrors=tuple(it for it in copies if isinstance(it, nodes.Mirror)),
        missing=NOWHERE[at.subject.kind],
    )


def _shares(
    rule: HTTPRouteRule, clusters: Sequence[nodes.Cluster | None]
) -> Iterator[nodes.Backend]:
    own_hosts = filters.differing_hosts(rule)
    for reference, cluster in zip(rule.backend_refs, clusters, strict=True):
        if reference.weight > 0:
            yield _share(reference, cluster, own_hosts)


def _share(
    reference: HTTPBackendRef, cluster: nodes.Cluster | None, own_hosts: bool
) -> nodes.Backend:
    rewrite = filters.rewrite(reference.filters) if own_hosts else None
    return nodes.Backend(
        cluster=cluster,
        weight=reference.weight,
        request_headers=filters.request_headers(reference.filters),
        response_headers=filters.response_headers(reference.filters),
        host=rewrite.host if rewrite is not None else "",
    )
