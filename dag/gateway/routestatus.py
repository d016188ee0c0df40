"""What the owner of an HTTPRoute is told, by each parent that is ours ("RouteConditionType").

Whether a route is accepted is between it and the parent; what its rules lack is told by every
parent alike. A problem with a backend never lowers the acceptance.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName
from dag import settings
from dag.gateway import attachment, conditions, httproute
from dag.gateway.attachment import Parent
from dag.gateway.httproute import Rules
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.statuses import Condition, ParentStatus, RouteStatus
from dag.view import View, query


@query
def httproute_status(view: View, key: NamespacedName) -> RouteStatus | None:
    """What an HTTPRoute is told; None if no parent is ours."""
    found = view.ask(attachment.attachment, key)
    if found is None:
        return None
    name, rules = view.ask(settings.controller_name, ()), view.ask(httproute.rules, key)
    return RouteStatus(
        tuple(
            ParentStatus(it.reference, name, tuple(_conditions(it, rules))) for it in found.parents
        )
    )


def _conditions(parent: Parent, rules: Rules) -> Iterator[Condition]:
    told = tuple(_told(parent, rules))
    yield conditions.condition("Accepted", told, "the route is attached")
    yield conditions.condition("ResolvedRefs", told, "every reference is resolved")
    yield from conditions.alarm(problems.DROPPED, told, problems.DROPPED_RULE)


def _told(parent: Parent, rules: Rules) -> Iterator[Problem]:
    """What makes the whole route unacceptable is not told as a part of it."""
    if parent.refusal is not None:
        yield parent.refusal
    for found in rules.problems:
        is_whole = problems.drops_a_rule(found) and not rules.is_accepted
        yield problems.no_rule_left(found) if is_whole else found
