"""The answer of `contour analyze`, as JSON has it: all that a client needs."""

from typing import Literal, TypedDict

from contour.answers.subjects import Subject

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first."""


class ShownFinding(TypedDict):
    """One thing that is wrong or worth a look."""

    code: str
    """Stays as it is from release to release; explained in docs/findings.md."""
    severity: Severity
    object: Subject | None
    """None where a file cannot be read."""
    field: str
    """The path of the field, such as `spec.routes[0]`; empty for the whole object."""
    file: str
    line: int
    """Counted from 1; 0 if it is not known."""
    message: str
    why: str
    """Why it matters; empty where the message says it."""
    remedy: str
    """What to do; empty where the message says it."""


def order(found: ShownFinding) -> tuple[int, str, int, str, str]:
    """Errors first, then by place, object and code."""
    subject = found["object"]
    named = "/".join((subject["kind"], subject["namespace"], subject["name"])) if subject else ""
    rank = SEVERITIES.index(found["severity"])
    return rank, found["file"], found["line"], named, found["code"]
