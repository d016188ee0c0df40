"""Which filters of Envoy Gateway the rules of a route name, whether it is attached or not.

Computed once per route. What a filter means is settled before the routes that name it
(`filterlimits`, `authenticationfilters`, `routefilters`), and the owner of a RateLimitFilter is
told of each route (`ratelimitstatus`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.grpcroute import GRPCRouteFilter
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Index, Kept, View, query
from dag.problems import gateway as problems


class Use(NamedTuple):
    """A filter that a route names."""

    kind: str
    filter: NamespacedName
    path: str
    """The field of the reference in the route."""


@query
def uses(view: View, ref: ObjectRef) -> frozenset[Use]:
    """The filters that the rules of a route name."""
    own = problems.route(ref)
    return frozenset(
        Use(
            named.kind,
            NamespacedName(ref.namespace, named.name),
            own.at("rules", number).at("filters", index).at("extensionRef").path,
        )
        for number, filters in enumerate(_filters(view, ref))
        for index, it in enumerate(filters)
        if (named := it.extension_ref) is not None and named.group == ENVOY_GATEWAY
    )


def _filters(view: View, ref: ObjectRef) -> Iterable[Sequence[HTTPRouteFilter | GRPCRouteFilter]]:
    """The filters of each rule of a route."""
    if ref.kind == "HTTPRoute":
        http = view.read(tables.HTTPROUTES, ref.key)
        return [it.filters for it in http.spec.rules] if http is not None else ()
    grpc = view.read(tables.GRPCROUTES, ref.key)
    return [it.filters for it in grpc.spec.rules] if grpc is not None else ()


def _limited(ref: ObjectRef, found: frozenset[Use]) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((name, ref) for name in _named("RateLimitFilter", found))


def _authenticated(_: ObjectRef, found: frozenset[Use]) -> Iterator[tuple[NamespacedName, None]]:
    return ((name, None) for name in _named("AuthenticationFilter", found))


def _rewriting(ref: ObjectRef, found: frozenset[Use]) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((name, ref) for name in _named("HTTPRouteFilter", found))


def _named(kind: str, found: Iterable[Use]) -> set[NamespacedName]:
    return {it.filter for it in found if it.kind == kind}


def _http(key: NamespacedName) -> ObjectRef:
    return ObjectRef("HTTPRoute", *key)


def _grpc(key: NamespacedName) -> ObjectRef:
    return ObjectRef("GRPCRoute", *key)


LIMITED: Index[NamespacedName, ObjectRef] = Index("routes of a RateLimitFilter", uses, _limited)
AUTHENTICATED: Index[NamespacedName, None] = Index(
    "AuthenticationFilters that routes name", uses, _authenticated
)
REWRITING: Index[NamespacedName, ObjectRef] = Index(
    "routes of an HTTPRouteFilter", uses, _rewriting
)

INDEXES = (LIMITED, AUTHENTICATED, REWRITING)
KEPT = (
    Kept(uses, tables.HTTPROUTES, _http),
    Kept(uses, tables.GRPCROUTES, _grpc),
)
