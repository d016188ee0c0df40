"""What a GRPCRoute asks for, whichever hosts it is attached to: its rules as routes.

Gateway API, "GRPCRouteRule". Filters and backends are those of an HTTPRoute, so a rule is read as
one of its rules. It takes only calls, by their content type: other requests of the host go to
HTTPRoutes. Elsewhere: the matches (`grpcmatches`).
"""

from crds.gateway import grpcroute as crd
from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import View, query
from dag.gateway import grpcmatches, httprules
from dag.gateway.rules import Rules
from dag.problems import gateway as problems


@query
def rules(view: View, key: NamespacedName) -> Rules:
    """What the rules of a route ask for."""
    route = view.read(tables.GRPCROUTES, key)
    if route is None:
        return Rules()
    own = problems.route(ObjectRef("GRPCRoute", *key))
    asked = [(_as_http(it), it.matches) for it in route.spec.rules]
    return httprules.rules(view, own, route, asked, _MATCHING)


_MATCHING = httprules.Matching(crd.GRPCRouteMatch(), grpcmatches.refusals, grpcmatches.node)


def _as_http(rule: crd.GRPCRouteRule) -> HTTPRouteRule:
    return HTTPRouteRule(
        name=rule.name,
        filters=tuple(map(_filter, rule.filters)),
        backend_refs=tuple(map(_backend, rule.backend_refs)),
        session_persistence=rule.session_persistence,
    )


def _backend(found: crd.GRPCBackendRef) -> HTTPBackendRef:
    return HTTPBackendRef(
        group=found.group,
        kind=found.kind,
        name=found.name,
        namespace=found.namespace,
        port=found.port,
        weight=found.weight,
        filters=tuple(map(_filter, found.filters)),
    )


def _filter(found: crd.GRPCRouteFilter) -> HTTPRouteFilter:
    return HTTPRouteFilter(
        type=found.type,
        request_header_modifier=found.request_header_modifier,
        response_header_modifier=found.response_header_modifier,
        request_mirror=found.request_mirror,
        extension_ref=found.extension_ref,
    )
