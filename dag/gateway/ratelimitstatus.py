"""What the owner of a RateLimitFilter is told: for each route that names it, whether it counts.

A filter has no parent of its own, so the routes are its ancestors (GEP-713). `Accepted` says
whether the filter could be built for the route, `Programmed` whether Envoys and the rate limit
service have it. What these have yet to accept is added to the latter elsewhere (`dag.refusals`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.grpcroute import GRPCRouteFilter
from crds.gateway.references import ParentReference
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import attachment, conditions, filterlimits, routes
from dag.problems import Problem, ratelimits
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus

MOST_ROUTES = 16
"""That are told of in one status: as many as the API stores."""

Use = tuple[NamespacedName, str]
"""A filter that a route names, and the path of the reference."""


@query
def uses(view: View, ref: ObjectRef) -> frozenset[Use]:
    """The RateLimitFilters that the rules of a route name."""
    own = problems.route(ref)
    return frozenset(
        (NamespacedName(ref.namespace, named.name), _path(own, number, index))
        for number, filters in enumerate(_filters(view, ref))
        for index, it in enumerate(filters)
        if (named := it.extension_ref) is not None
        and (named.group, named.kind) == (ENVOY_GATEWAY, filterlimits.KIND)
    )


def _filters(view: View, ref: ObjectRef) -> Iterable[Sequence[HTTPRouteFilter | GRPCRouteFilter]]:
    """The filters of each rule of a route."""
    if ref.kind == "HTTPRoute":
        http = view.read(tables.HTTPROUTES, ref.key)
        return [it.filters for it in http.spec.rules] if http is not None else ()
    grpc = view.read(tables.GRPCROUTES, ref.key)
    return [it.filters for it in grpc.spec.rules] if grpc is not None else ()


def _path(own: Place, rule: int, index: int) -> str:
    return own.at("rules", rule).at("filters", index).at("extensionRef").path


@query
def rate_limit_filter(view: View, key: NamespacedName) -> PolicyStatus | None:
    """What a filter is told; None if no route of ours names it."""
    if not view.count(filterlimits.RULES, key):
        return None
    name = view.ask(settings.controller_name, ())
    users = (
        ref
        for ref in sorted(view.bucket(USERS, key))
        if view.ask(attachment.attachment, ref) is not None
    )
    told = tuple(
        AncestorStatus(_named(ref), name, tuple(_conditions(view, key, ref)))
        for ref in islice(users, MOST_ROUTES)
    )
    return PolicyStatus(told) if told else None


def _named(route: ObjectRef) -> ParentReference:
    return ParentReference(kind=route.kind, name=route.name, namespace=route.namespace)


def _conditions(view: View, key: NamespacedName, ref: ObjectRef) -> Iterator[Condition]:
    own = Place(ObjectRef(filterlimits.KIND, *key))
    told = tuple(_told(view, own, ref))
    yield conditions.condition(ConditionType.Accepted, told, "the filter holds")
    unserved = tuple(ratelimits.limits_not_served(own, it) for it in told[:1])
    yield conditions.programmed(view, unserved)


def _told(view: View, own: Place, ref: ObjectRef) -> Iterator[Problem]:
    """Why the filter is not in force on a route."""
    found = view.ask(attachment.attachment, ref)
    if found is not None and all(it.refusal is not None for it in found.parents):
        yield ratelimits.limits_not_accepted(own, f"{ref.kind} {ref.key} is attached to no Gateway")
    paths = tuple(f"{path}: " for name, path in view.ask(uses, ref) if name == own.subject.key)
    for it in routes.rules(view, ref).problems:
        if it.type == ConditionType.ResolvedRefs and it.message.startswith(paths):
            yield ratelimits.limits_not_accepted(own, f"{ref.kind} {ref.key}: {it.message}")


def _users(ref: ObjectRef, found: frozenset[Use]) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((name, ref) for name in {name for name, _ in found})


def _http(key: NamespacedName) -> ObjectRef:
    return ObjectRef("HTTPRoute", *key)


def _grpc(key: NamespacedName) -> ObjectRef:
    return ObjectRef("GRPCRoute", *key)


USERS: Index[NamespacedName, ObjectRef] = Index("routes of a RateLimitFilter", uses, _users)

INDEXES = (USERS,)
KEPT = (
    Kept(uses, tables.HTTPROUTES, _http),
    Kept(uses, tables.GRPCROUTES, _grpc),
)
