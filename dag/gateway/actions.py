"""The action of a rule: requests are forwarded by weight, redirected, or answered.

Filters of a backend apply to its share alone. Envoy rewrites paths, redirects and mirrors per
route, so these must be the same for every backend of a rule; header changes and host names may
differ.
"""

from collections.abc import Iterator, Mapping, Sequence

from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import (
    backends,
    backendtraffic,
    failover,
    filters,
    mirrors,
    routefilters,
    timeouts,
)
from dag.problems import Problem
from dag.problems.backends import none_has_weight
from dag.problems.places import Place

NOWHERE: Mapping[str, int] = {"HTTPRoute": 500, "GRPCRoute": 503}
"""What is answered where there is no backend; 503 is UNAVAILABLE to a gRPC client."""


def nowhere(kind: str) -> nodes.Respond:
    """The answer of a rule without any valid backend."""
    return nodes.Respond(NOWHERE[kind])


def action(view: View, rule: HTTPRouteRule, at: Place) -> Iterator[nodes.Action | Problem]:
    """What answers the requests of a rule, and what is wrong with its references."""
    wanted = [it for _, it in filters.placed(rule, at)]
    redirect = filters.redirect(wanted)
    if redirect is not None:
        yield redirect
        return
    own = routefilters.joined(view, rule.filters, at.subject.namespace)
    if own.respond is not None:
        yield routefilters.answer(own.respond, at.subject.kind)
        return
    found = list(backends.clusters(view, rule.backend_refs, at))
    yield from (it for it in found if isinstance(it, Problem))
    clusters = [it for it in found if not isinstance(it, Problem)]
    together = failover.shares_sessions(rule)
    given = yield from failover.shares(
        view, rule.backend_refs, clusters, at, with_sessions=together
    )
    shares = tuple(_injected(it, own.injection) for it in _shares(view, rule, given))
    if not any(it.cluster for it in shares):
        if not any(it.weight for it in rule.backend_refs):
            told = f"its requests are answered {NOWHERE[at.subject.kind]}"
            yield none_has_weight(at, has_some=bool(rule.backend_refs), answer=told)
        yield nowhere(at.subject.kind)
        return
    copies = tuple(mirrors.mirrors(view, rule, at))
    yield from (it for it in copies if isinstance(it, Problem))
    yield nodes.Forward(
        backends=shares,
        timeout=timeouts.timeout(rule),
        try_timeout=timeouts.try_timeout(rule),
        rewrite=routefilters.rewritten(_rewrite(rule, wanted), own),
        retry=timeouts.retry(rule),
        websockets=any(backends.is_for_websockets(view, it.cluster) for it in shares),
        mirrors=tuple(it for it in copies if isinstance(it, nodes.Mirror)),
        missing=NOWHERE[at.subject.kind],
    )


def _rewrite(rule: HTTPRouteRule, wanted: Sequence[HTTPRouteFilter]) -> nodes.Rewrite | None:
    """The rewrite for all backends; without the host if they get different ones, since Envoy would
    rewrite that of each backend once more."""
    found = filters.rewrite(wanted)
    if found is None or not filters.differing_hosts(rule):
        return found
    found = replace(found, host="")
    return found if found != nodes.Rewrite() else None


def _shares(
    view: View, rule: HTTPRouteRule, given: Sequence[failover.Share]
) -> Iterator[nodes.Backend]:
    own_hosts = filters.differing_hosts(rule)
    for reference, share in zip(rule.backend_refs, given, strict=True):
        if share.weight > 0:
            found = _share(rule, reference, share, own_hosts)
            kept = _session(view, rule, share.cluster)
            yield replace(found, session=kept) if kept is not None else found


def _session(
    view: View, rule: HTTPRouteRule, cluster: nodes.Cluster | None
) -> nodes.SessionPersistence | None:
    """The backend's session persistence, if the rule has none and the cluster one backend."""
    if rule.session_persistence is not None or cluster is None:
        return None
    owners = {cluster.port.owner, *(it.port.owner for it in cluster.members)}
    return view.ask(backendtraffic.held, cluster.port.owner).session if len(owners) == 1 else None


def _injected(share: nodes.Backend, wanted: nodes.Injection | None) -> nodes.Backend:
    """A share whose requests get a credential, if there is one."""
    if wanted is None or share.cluster is None:
        return share
    return replace(share, cluster=replace(share.cluster, injection=wanted))


def _share(
    rule: HTTPRouteRule, reference: HTTPBackendRef, share: failover.Share, own_hosts: bool
) -> nodes.Backend:
    rewrite = filters.rewrite((*rule.filters, *reference.filters)) if own_hosts else None
    return nodes.Backend(
        cluster=share.cluster,
        weight=share.weight,
        request_headers=filters.request_headers_for(rule, reference),
        response_headers=filters.response_headers(reference.filters),
        host=rewrite.host if rewrite is not None else "",
    )
