"""The status of a RateLimitFilter: for each route that names it, whether it is in force.

A filter has no parent, so the routes are its ancestors (GEP-713). `Accepted` says whether the
filter could be built for the route, `Programmed` whether Envoys and the rate limit service have it;
what they have not accepted yet is added in `dag.refusals`.
"""

from collections.abc import Iterator
from itertools import islice

from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from dag.configuration import settings
from dag.engine.view import View, query
from dag.gateway import attachment, conditions, filterlimits, filteruses, routes
from dag.problems import Problem, ratelimits
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus

MOST_ROUTES = 16
"""The most routes in one status: as many ancestors as the API stores."""


@query
def rate_limit_filter(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a filter; None if no route of ours names it."""
    if not view.count(filterlimits.RULES, key):
        return None
    name = view.ask(settings.controller_name, ())
    users = (
        ref
        for ref in sorted(view.bucket(filteruses.LIMITED, key))
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
    named = (filterlimits.KIND, own.subject.key)
    uses = view.ask(filteruses.uses, ref)
    paths = tuple(f"{it.path}: " for it in uses if (it.kind, it.filter) == named)
    for it in routes.rules(view, ref).problems:
        if it.type == ConditionType.ResolvedRefs and it.message.startswith(paths):
            yield ratelimits.limits_not_accepted(own, f"{ref.kind} {ref.key}: {it.message}")
