"""AuthenticationFilters of a rule. Tokens are not verified yet, so none can be served."""

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
    """Refused, since nobody verifies tokens."""
    for target, at in references:
        if view.read(tables.AUTHENTICATION_FILTERS, target) is None:
            raise Refused(problems.filter_not_found(at, f"AuthenticationFilter {target} not found"))
        raise Refused(problems.filter_not_valid(at, f"AuthenticationFilter {target} is not served"))
    yield from ()
    return made
