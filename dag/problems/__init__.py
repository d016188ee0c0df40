"""The catalogue of everything a user can be told: one constructor per thing, grouped by kind.

Reason strings equal upstream's, character for character, and stand nowhere else. A rule yields
nodes and problems in one stream, so it cannot forget to report. Elsewhere: where a problem is
shown (`statuses` and the `status` rules of each API).
"""

from dataclasses import dataclass
from typing import Literal

from crds.meta import ObjectRef


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an object, told in that object's status and nowhere else."""

    subject: ObjectRef
    type: str
    """The condition or sub-condition type, e.g. `TLSError`."""
    reason: str
    message: str
    """A sentence for people; begins with the path of the field where there is one."""
    severity: Literal["error", "warning"] = "error"
