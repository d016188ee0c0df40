"""Problems of RateLimitFilters, and of policies with global limits.

A problem of a filter is also reported on the routes that name it (`gateway`).
"""

from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway


def limits_not_accepted(owner: Place, why: str) -> Problem:
    """A filter that cannot be built for a route."""
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Invalid, why)


def limits_not_served(owner: Place, found: Problem) -> Problem:
    """The limits of a filter that could not be built, so nothing enforces them."""
    return Problem(owner.subject, ConditionType.Programmed, Gateway.Invalid, found.message)


def limits_not_counted(owner: Place, why: str, *, is_pending: bool) -> Problem:
    """Limits that Envoys or the rate limit service do not have (yet)."""
    reason = Gateway.Pending if is_pending else Gateway.NoResources
    return Problem(owner.subject, ConditionType.Programmed, reason, why)
