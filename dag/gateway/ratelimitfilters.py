"""RateLimitFilters of a rule. No rate limit service can be enabled yet, so none can be served."""

from collections.abc import Sequence

from dag import nodes, tables
from dag.engine.view import View
from dag.gateway.resolving import Reference
from dag.problems import Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings


def policies(
    view: View, references: Sequence[Reference], made: nodes.Policies
) -> Findings[nodes.Policies]:
    """Refused, since nobody counts requests."""
    for target, at in references:
        if view.read(tables.RATE_LIMIT_FILTERS, target) is None:
            raise Refused(problems.filter_not_found(at, f"RateLimitFilter {target} not found"))
        text = f"RateLimitFilter {target}: the rate limit service is not enabled"
        raise Refused(problems.filter_not_found(at, text))
    yield from ()
    return made
