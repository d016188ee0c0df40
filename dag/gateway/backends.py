"""Where the requests of a rule go: its backendRefs by weight (Gateway API, "HTTPBackendRef").

A reference that leads nowhere keeps its share of the requests, which are answered 500; so are
those of a rule that has none. What is told of a reference into another namespace without a grant
does not depend on whether its target is there.
"""

from collections.abc import Iterator, Mapping

from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from crds.gateway.references import GROUP
from crds.meta import NamespacedName
from dag import grants, nodes, services
from dag.gateway import filters, timeouts
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View

Answer = nodes.Forward | nodes.Respond

WEBSOCKETS = "kubernetes.io/ws"
PROTOCOLS = frozenset({"", "http", "kubernetes.io/h2c", WEBSOCKETS})
"""The values of `appProtocol` that are served."""

NOWHERE = nodes.Respond(500)


def answer(view: View, rule: HTTPRouteRule, at: Place) -> Iterator[Answer | Problem]:
    """What answers the requests of a rule, and what is wrong with its references."""
    found = {
        index: _upstream(view, reference, at.at("backendRefs", index))
        for index, reference in enumerate(rule.backend_refs)
    }
    yield from (it for it in found.values() if isinstance(it, Problem))
    yield _answer(rule, {n: it for n, it in found.items() if isinstance(it, services.Upstream)})


def _answer(rule: HTTPRouteRule, upstreams: Mapping[int, services.Upstream]) -> Answer:
    backends = tuple(
        _backend(reference, upstreams.get(index))
        for index, reference in enumerate(rule.backend_refs)
        if reference.weight > 0
    )
    if not any(it.cluster for it in backends):
        return NOWHERE
    return nodes.Forward(
        backends=backends,
        timeout=timeouts.timeout(rule.timeouts),
        rewrite=filters.rewrite(rule.filters),
        websockets=any(it.app_protocol == WEBSOCKETS for it in upstreams.values()),
    )


def _backend(reference: HTTPBackendRef, upstream: services.Upstream | None) -> nodes.Backend:
    return nodes.Backend(
        cluster=_cluster(upstream) if upstream else None,
        weight=reference.weight,
        request_headers=filters.request_headers(reference.filters),
        response_headers=filters.response_headers(reference.filters),
    )


def _cluster(upstream: services.Upstream) -> nodes.Cluster:
    return nodes.Cluster(upstream.port, upstream.dns, upstream.protocol)


def _upstream(view: View, reference: HTTPBackendRef, at: Place) -> services.Upstream | Problem:
    if (reference.group, reference.kind) != ("", "Service") or reference.port is None:
        kind = f"{reference.group}/{reference.kind}".lstrip("/")
        why = f"kind {kind} is not served; Service is"
        return problems.backend_not_resolved(at, "InvalidKind", why)
    route = at.subject
    name = NamespacedName(reference.namespace or route.namespace, reference.name)
    referrer = grants.Referrer(GROUP, route.kind, route.namespace)
    if not grants.is_granted(view, referrer, grants.Target("", "Service", *name)):
        why = f"no ReferenceGrant in namespace {name.namespace} permits Service {name}"
        return problems.backend_not_resolved(at, "RefNotPermitted", why)
    return _permitted(view.ask(services.upstream, (name, reference.port)), at)


def _permitted(
    found: services.Upstream | services.Unresolved, at: Place
) -> services.Upstream | Problem:
    match found:
        case services.Unresolved(kind="Protocol"):
            return problems.backend_not_resolved(at, "UnsupportedProtocol", found.message)
        case services.Unresolved():
            return problems.backend_not_resolved(at, "BackendNotFound", found.message)
        case _ if found.app_protocol not in PROTOCOLS:
            why = f"appProtocol {found.app_protocol!r} is not served"
            return problems.backend_not_resolved(at, "UnsupportedProtocol", why)
        case _:
            return found
