"""What a GRPCRoute asks for, whichever hosts it is attached to: its rules as routes.

Gateway API, "GRPCRouteRule". Filters and backends are those of an HTTPRoute, so a rule is read as
one of its rules. It takes calls only, by their content type: other requests of the host go to
HTTPRoutes. Elsewhere: which calls a match means (`calls`).
"""

from collections.abc import Iterator

from crds.gateway import grpcroute as crd
from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from crds.gateway.known import UnknownValue, unknown_values
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import UnservedField, unserved
from dag import nodes, tables
from dag.gateway import calls, ruling
from dag.gateway.rules import Rules
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View, query


@query
def rules(view: View, key: NamespacedName) -> Rules:
    """What the rules of a route ask for."""
    route = view.read(tables.GRPCROUTES, key)
    if route is None:
        return Rules()
    own = problems.route(ObjectRef("GRPCRoute", *key))
    marked, strange = unserved(route), unknown_values(route)
    found = [
        tuple(_rule(view, rule, own.at("rules", index), marked, strange))
        for index, rule in enumerate(route.spec.rules)
    ]
    asked, more = map(_as_http, route.spec.rules), ruling.unharmful(own, marked, strange)
    return ruling.together(view, own.subject, asked, found, more)


def _rule(
    view: View,
    rule: crd.GRPCRouteRule,
    at: Place,
    marked: tuple[UnservedField, ...],
    strange: tuple[UnknownValue, ...],
) -> Iterator[nodes.Route | Problem]:
    wanted = rule.matches or (crd.GRPCRouteMatch(),)
    unmatched = [
        problem
        for index, match in enumerate(wanted)
        for problem in calls.refusals(match, at.at("matches", index))
    ]
    closing = list(ruling.closing(marked, strange, at))
    yield from (*unmatched, *closing)
    is_unmatched = unmatched or any(it.path.startswith(f"{at.path}.matches[") for it in strange)
    taken = [] if is_unmatched else [calls.node(it) for it in wanted]
    yield from ruling.routes(view, _as_http(rule), taken, at, closed=bool(closing))


def _as_http(rule: crd.GRPCRouteRule) -> HTTPRouteRule:
    return HTTPRouteRule(
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
