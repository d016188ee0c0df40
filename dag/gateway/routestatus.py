"""The status of a route, with an entry for each parent of ours ("RouteConditionType").

Whether a route is accepted depends on the parent; problems with its rules are the same for every
parent. A problem with a backend never makes `Accepted` false.
"""

from collections.abc import Iterator, Mapping

from crds.meta import NamespacedName, ObjectRef
from dag import defaults
from dag.configuration import settings
from dag.engine.view import Query, View, query
from dag.gateway import (
    attachment,
    conditions,
    copies,
    listenerguards,
    precedence,
    routecertificates,
    routes,
    servicehosts,
    serviceparents,
)
from dag.gateway.attachment import Attachment, Parent
from dag.gateway.rules import Rules
from dag.gateway.serviceparents import ServiceParent
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.statuses import Condition, ParentStatus, RouteStatus


def _status_of(kind: str) -> Query[NamespacedName, RouteStatus | None]:
    def route_status(view: View, key: NamespacedName) -> RouteStatus | None:
        return status(view, ObjectRef(kind, *key))

    route_status.__name__ = f"{kind.lower()}_status"
    return query(route_status)


STATUSES: Mapping[str, Query[NamespacedName, RouteStatus | None]] = {
    kind: _status_of(kind) for kind in routes.KINDS
}


def status(view: View, ref: ObjectRef) -> RouteStatus | None:
    """The status of a route; None if no parent is ours."""
    found = view.ask(attachment.attachment, ref)
    at_services = view.ask(serviceparents.service_attachment, ref)
    if found is None and at_services is None:
        return None
    name = settings.controller_in_statuses(view.ask(settings.controller_name, ()))
    rules = routes.rules(view, ref)
    idle = tuple(_idle_hosts(found)) if found is not None else ()
    parents = [
        ParentStatus(it.reference, name, tuple(_conditions(view, ref, it, rules, idle)))
        for it in (found.parents if found is not None else ())
    ]
    parents += (
        ParentStatus(it.reference, name, tuple(_at_service(view, ref, it, rules)))
        for it in (at_services.parents if at_services is not None else ())
    )
    return RouteStatus(tuple(parents))


def _at_service(
    view: View, ref: ObjectRef, parent: ServiceParent, rules: Rules
) -> Iterator[Condition]:
    told = tuple(_told(parent, servicehosts.as_followed(view, ref, rules)))
    yield conditions.condition(ConditionType.Accepted, told, _SHAPES)
    yield conditions.condition(ConditionType.ResolvedRefs, told, "every reference is resolved")
    yield from conditions.alarm(problems.DROPPED, told, problems.DROPPED_RULE)


_SHAPES = "the route shapes the calls of gRPC clients to the Service"


def _idle_hosts(found: Attachment) -> Iterator[Problem]:
    for index, why in found.idle_hosts():
        at = Place(found.route.ref).at("hostnames", index)
        yield at.warning(ConditionType.Accepted, Gateway.Accepted, f"{why}; it has no effect")


def _conditions(
    view: View, ref: ObjectRef, parent: Parent, rules: Rules, idle: tuple[Problem, ...]
) -> Iterator[Condition]:
    told = (
        *_told(parent, rules),
        *idle,
        *routecertificates.problems_of(view, ref, parent),
        *precedence.problems_of(view, ref, parent),
        *listenerguards.problems_of(view, ref, parent, rules),
        *copies.problems_of(view, ref, Place(ref)),
        *_unauthorized(view, ref),
    )
    yield conditions.condition(ConditionType.Accepted, told, "the route is attached")
    yield conditions.condition(ConditionType.ResolvedRefs, told, "every reference is resolved")
    yield from conditions.alarm(problems.DROPPED, told, problems.DROPPED_RULE)


def _unauthorized(view: View, ref: ObjectRef) -> Iterator[Problem]:
    """That every request is refused: of connections of the other kinds nobody is asked."""
    is_http = ref.kind in {"HTTPRoute", "GRPCRoute"}
    if is_http and (why := view.ask(defaults.unauthorized, ())):
        yield unguarded.unauthorized(Place(ref), why)


def _told(parent: Parent | ServiceParent, rules: Rules) -> Iterator[Problem]:
    """The problems of a route at a parent; if no rule is left, they are of the whole route."""
    if parent.refusal is not None:
        yield parent.refusal
    for found in rules.problems:
        is_whole = problems.drops_a_rule(found) and not rules.is_accepted
        yield problems.no_rule_left(found) if is_whole else found
