"""The `Valid` condition, with everything that is wrong with an object of Contour's own kinds.

Source: HTTPProxy reference, "DetailedCondition"; reasons and messages as upstream writes them.
"""

from collections.abc import Iterable
from typing import Literal

from crds.records import replace
from dag.problems import Problem
from dag.problems.places import sub_conditions
from dag.problems.reasons import Contour, ErrorType
from dag.statuses import Condition, ContourStatus

VALID = "Valid"
"""The only condition of Contour's kinds."""

INVALID = Condition(
    VALID,
    "False",
    Contour.ErrorPresent.value,
    "At least one error present, see Errors for details",
)


def status(kind: str, found: Iterable[Problem]) -> ContourStatus:
    """Valid exactly when nothing that was found is an error."""
    told = tuple(found)
    errors = sub_conditions(it for it in told if it.severity == "error")
    warnings = sub_conditions(it for it in told if it.severity == "warning")
    if not errors:
        valid = Condition(VALID, "True", Contour.Valid.value, f"Valid {kind}")
        return ContourStatus(valid, "valid", (), warnings)
    is_orphan = any(it.type is ErrorType.Orphaned for it in told)
    return ContourStatus(INVALID, "orphaned" if is_orphan else "invalid", errors, warnings)


def joined(found: ContourStatus, more: Iterable[Problem]) -> ContourStatus:
    """The status with more problems."""
    told = tuple(more)
    errors = sub_conditions(it for it in told if it.severity == "error")
    warnings = (*found.warnings, *sub_conditions(it for it in told if it.severity == "warning"))
    if not errors:
        return replace(found, warnings=warnings)
    state: Literal["invalid", "orphaned"] = (
        "orphaned" if found.current_status == "orphaned" else "invalid"
    )
    return ContourStatus(INVALID, state, (*found.errors, *errors), warnings)
