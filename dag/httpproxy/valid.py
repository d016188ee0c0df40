"""The `Valid` condition: all that is wrong with an object of Contour's own kinds.

Source: HTTPProxy reference, "DetailedCondition"; reasons and messages as upstream writes them.
"""

from collections.abc import Iterable

from dag.problems import Problem, places
from dag.statuses import Condition, ContourStatus, SubCondition

ORPHANED = "Orphaned"


def contour_status(kind: str, found: Iterable[Problem]) -> ContourStatus:
    """Valid exactly when nothing that was found is an error."""
    told = places.in_order(found)
    errors = _sub_conditions(it for it in told if it.severity == "error")
    warnings = _sub_conditions(it for it in told if it.severity == "warning")
    if not errors:
        return ContourStatus(
            Condition("Valid", "True", "Valid", f"Valid {kind}"), "valid", (), warnings
        )
    message = "At least one error present, see Errors for details"
    valid = Condition("Valid", "False", "ErrorPresent", message)
    is_orphan = any(it.type == ORPHANED for it in errors)
    return ContourStatus(valid, "orphaned" if is_orphan else "invalid", errors, warnings)


def _sub_conditions(found: Iterable[Problem]) -> tuple[SubCondition, ...]:
    return tuple(SubCondition(it.type, it.reason, it.message) for it in found)
