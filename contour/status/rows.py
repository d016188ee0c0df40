"""One object in one row: its state and its problems, as text and as fields.

The text is for people, the fields are for programs; both come from the status. A status has the
path of a field but no file; the file provider knows the place (`Locate`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from contour.answers import shown
from contour.answers.subjects import Subject
from contour.complaints import Locate
from crds.meta import ObjectRef
from crds.records import replace
from dag import statuses
from dag.problems import gateway

State = Literal["ok", "warning", "error"]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Told:
    """One message about an object."""

    text: str
    """The whole message, for people."""
    severity: Severity
    message: str
    """What is wrong, without type, reason, field and place."""
    type: str = ""
    """The type of the condition or sub-condition, such as `ServiceError`; empty without one."""
    reason: str = ""
    field: str = ""
    """The path of the field, such as `spec.routes[0].services[0]`; empty for the whole object."""
    file: str = ""
    line: int = 0
    """Counted from 1; 0 if it is not known."""
    is_consequence: bool = False
    """It only says that other messages of the object are there."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object: its state, and why."""

    subject: ObjectRef
    state: State
    summary: str
    told: tuple[Told, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The messages, as text."""
        return tuple(it.text for it in self.told)

    def located(self, locate: Locate) -> "Row":
        """The row with the files and lines of its messages, if they are known."""
        return replace(self, told=tuple(_located(self.subject, it, locate) for it in self.told))


def causes(told: Iterable[Told]) -> tuple[Told, ...]:
    """Each message once, and without consequences where an error tells the cause."""
    once: dict[tuple[str, str, str], Told] = {}
    for it in told:
        once.setdefault((it.reason, it.field, it.message), it)
    found = tuple(it for it in once.values() if not it.is_consequence)
    return found if worst(found) == "error" else tuple(once.values())


def plain(row: Row) -> shown.Row:
    """A row as plain data."""
    return {
        "subject": plain_subject(row.subject),
        "state": row.state,
        "summary": row.summary,
        "reasons": list(row.reasons),
        "problems": [
            {
                "severity": it.severity,
                "type": it.type,
                "reason": it.reason,
                "field": it.field,
                "file": it.file,
                "line": it.line,
                "message": it.message,
            }
            for it in row.told
        ],
    }


def plain_subject(of: ObjectRef) -> Subject:
    """An object as plain data."""
    return {"kind": of.kind, "namespace": of.namespace, "name": of.name}


def _located(subject: ObjectRef, told: Told, locate: Locate) -> Told:
    place = None if told.file else locate(subject, told.field)
    return told if place is None else replace(told, file=place.file, line=place.line)


def judged(found: statuses.Status | None) -> tuple[State, str, tuple[Told, ...]]:
    """The state of an object with this status, a summary, and the messages."""
    match found:
        case None:
            return "ok", "", ()
        case statuses.ContourStatus():
            return _of_contour(found)
        case statuses.EventStatus():
            told = (*_lines(found.problems, "error"), *_lines(found.warnings, "warning"))
            return _summed("valid", told)
        case statuses.GatewayClassStatus() | statuses.BackendStatus():
            return _by_conditions(found.conditions)
        case statuses.EnvoyConfigStatus():
            state, summary, told = _by_conditions(found.conditions)
            return state, summary if state == "error" else found.cache_state, told
        case statuses.GatewayStatus() | statuses.ListenerSetStatus():
            own = ((f"listener {it.name}: ", it.conditions) for it in found.listeners)
            return _by_conditions(found.conditions, own)
        case statuses.PolicyStatus():
            those = ((_ancestor(it), it.conditions) for it in found.ancestors)
            return _by_conditions((), those)
        case statuses.RouteStatus():
            parents = ((f"parent {it.parent.name}: ", it.conditions) for it in found.parents)
            if not found.parents:
                return "warning", "not attached to a Gateway of this controller", ()
            return _by_conditions((), parents)


def _ancestor(found: statuses.AncestorStatus) -> str:
    return f"{found.ancestor.kind} {found.ancestor.name}: "


def of_count(told: Iterable[Told]) -> str:
    """`2 problems`, or `1 warning` if there are no errors; empty if there is neither."""
    of = Counter(it.severity for it in told)
    nouns: Mapping[Severity, str] = {"error": "problem", "warning": "warning"}
    for severity, noun in nouns.items():
        if count := of[severity]:
            return f"{count} {noun}{'s' if count > 1 else ''}"
    return ""


def _summed(good: str, told: tuple[Told, ...]) -> tuple[State, str, tuple[Told, ...]]:
    return worst(told), of_count(told) or good, told


def worst(told: Iterable[Told]) -> State:
    """The state of an object with these messages."""
    of = {it.severity for it in told}
    return "error" if "error" in of else "warning" if "warning" in of else "ok"


def _of_contour(found: statuses.ContourStatus) -> tuple[State, str, tuple[Told, ...]]:
    errors, warnings = _lines(found.errors, "error"), _lines(found.warnings, "warning")
    if found.current_status != "valid" and not errors:
        # Otherwise the message only says that there are errors.
        valid = found.valid
        errors = (_told(f"{valid.message}", valid.message, valid.type, valid.reason),)
    state = worst((*errors, *warnings))
    return state, found.current_status, (*errors, *warnings)


def _lines(found: Iterable[statuses.SubCondition], severity: Severity) -> tuple[Told, ...]:
    return tuple(
        _told(f"{it.type}/{it.reason}: {it.message}", it.message, it.type, it.reason, severity)
        for it in found
    )


def _by_conditions(
    own: tuple[statuses.Condition, ...],
    parts: Iterable[tuple[str, tuple[statuses.Condition, ...]]] = (),
) -> tuple[State, str, tuple[Told, ...]]:
    every = [(where, it) for where, conditions in [("", own), *parts] for it in conditions]
    bad = tuple(_bad(where, it) for where, it in every if is_bad(it))
    warnings = tuple(it for where, found in every for it in _warnings(where, found))
    state = worst((*bad, *warnings))
    if state == "error":
        return state, of_count(bad), (*bad, *warnings)
    good = ", ".join(dict.fromkeys(it.type for _, it in every if not is_bad(it))) or "none"
    return state, good, (*bad, *warnings)


def _bad(where: str, it: statuses.Condition) -> Told:
    text = f"{where}{it.type}={it.status} {it.reason}: {it.message}"
    severity: Severity = "warning" if it.type in _HARMLESS else "error"
    found = _told(text, it.message, it.type, it.reason, severity)
    return replace(found, is_consequence=gateway.is_consequence(it.message))


_HARMLESS = frozenset({"OverlappingTLSConfig"})
"""Conditions of which users are to know, while everything is served as it is written."""


def _warnings(where: str, found: statuses.Condition) -> Iterator[Told]:
    if not is_bad(found):
        for text in found.warnings:
            yield _told(f"{where}{text}", text, found.type, "", "warning")


_FIELD = re.compile(r"((?:spec|metadata|data)(?:\.\w+|\[[^\]]*\])*): (.*)", re.DOTALL)


def _told(
    text: str, message: str, type_: str = "", reason: str = "", severity: Severity = "error"
) -> Told:
    """A message of a status, which may begin with the path of a field."""
    found = _FIELD.fullmatch(message)
    field, rest = (found[1], found[2]) if found else ("", message)
    return Told(text, severity, rest, type_, reason, field)


def of_text(text: str, severity: Severity) -> Told:
    """A message that exists only as text."""
    return _told(text, text, severity=severity)


_BAD_IF_TRUE = frozenset(
    {
        "Conflicted",
        "PartiallyInvalid",
        "OverlappingTLSConfig",
        "InsecureFrontendValidationMode",
        "UnservedGuard",
        "CacheOutOfSync",
        "RollbackFailed",
    }
)


def is_bad(condition: statuses.Condition) -> bool:
    """Whether a condition is bad or unknown."""
    return condition.status != ("False" if condition.type in _BAD_IF_TRUE else "True")
