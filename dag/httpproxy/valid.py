"""The `Valid` condition: all that is wrong with an object of Contour's own kinds.

Source: HTTPProxy reference, "DetailedCondition"; reasons and messages as upstream writes them.
"""

import re
from collections.abc import Iterable

from dag.problems import Problem
from dag.statuses import Condition, ContourStatus, SubCondition

ORPHANED = "Orphaned"


def contour_status(kind: str, found: Iterable[Problem]) -> ContourStatus:
    """Valid exactly when nothing that was found is an error."""
    told = sorted(found, key=_place)
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


_NUMBER = re.compile(r"(\d+)")


def _place(it: Problem) -> tuple[list[str], str, str]:
    """In the order of the document: `routes[10]` comes after `routes[2]`."""
    parts = _NUMBER.split(it.message)
    return [part.zfill(9) if part.isdigit() else part for part in parts], it.type, it.reason
