"""The board: what every object is told right now, and how that reads in one line.

`contour status` shows it as a table, `contour translate --to status` as a stream of objects. It
is fed with changes, so it never walks the world; a listing sorts what there is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contour.status import rendering
from crds.kinds import KINDS, Kind
from crds.meta import ObjectRef
from crds.raw import Raw
from dag import statuses

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Row:
    """One object: how it fares, and why."""

    subject: ObjectRef
    state: State
    summary: str
    reasons: tuple[str, ...] = ()


class Remark(NamedTuple):
    """What was said of the newest version of an object before any rule saw it."""

    severity: Literal["error", "warning"]  # an error: the version was not taken
    message: str


@dataclass(slots=True)
class Board:
    """The newest status of every object, and the remarks on it."""

    told: dict[ObjectRef, statuses.Status] = field(default_factory=dict)
    remarks: dict[ObjectRef, dict[str, tuple[Remark, ...]]] = field(default_factory=dict)

    def put(self, subject: ObjectRef, found: statuses.Status | None) -> None:
        """Notes what an object is told, or that it is gone."""
        if found is None:
            self.told.pop(subject, None)
        else:
            self.told[subject] = found

    def remark(self, subject: ObjectRef, source: str, remarks: tuple[Remark, ...]) -> None:
        """Replaces what one source remarks on an object."""
        if remarks:
            self.remarks.setdefault(subject, {})[source] = remarks
        elif subject in self.remarks:
            self.remarks[subject].pop(source, None)
            if not self.remarks[subject]:
                del self.remarks[subject]

    def faults(self, subject: ObjectRef) -> tuple[str, ...]:
        """Why the newest version of an object was not taken; empty if it was."""
        remarks = self.remarks.get(subject, {}).values()
        return tuple(it.message for of in remarks for it in of if it.severity == "error")

    def rows(self) -> Iterator[Row]:
        """One row for each object with a status or a remark, sorted."""
        for subject in sorted(self.told.keys() | self.remarks.keys()):
            yield self._row(subject)

    def objects(self, generations: dict[ObjectRef, int]) -> Iterator[Raw]:
        """Every object that gets a status, as a Kubernetes object without its specification.

        An object of which no version could be taken is among them; its `problems` say why.
        """
        refused = {it for it in self.remarks if it.kind in _KINDS and self.faults(it)}
        for subject in sorted(self.told.keys() | refused):
            yield self._object(subject, generations.get(subject, 0))

    def _object(self, subject: ObjectRef, generation: int) -> Raw:
        found, faults = self.told.get(subject), self.faults(subject)
        shown: Raw = {
            "apiVersion": _api_version(subject.kind),
            "kind": subject.kind,
            "metadata": _metadata(subject),
            "status": rendering.status(found, generation) if found else {},
        }
        problems, warnings = list(faults), []
        if isinstance(found, statuses.IngressStatus):
            said = [_line(it) for it in found.problems]
            problems = [it for it in faults if not _is_said(it, tuple(said))] + said
            warnings = [_line(it) for it in found.warnings]
        told = {"problems": problems, "warnings": warnings}
        return shown | {name: lines for name, lines in told.items() if lines}

    def _row(self, subject: ObjectRef) -> Row:
        found = self.told.get(subject)
        remarks = [it for of in self.remarks.get(subject, {}).values() for it in of]
        state, summary, reasons = _judged(found)
        said = tuple(it.message for it in remarks if not _is_said(it.message, reasons))
        reasons = tuple(it for it in reasons if not _is_placed(it, said))
        if any(it.severity == "error" for it in remarks):
            what = "newest version refused" if found else "refused"
            return Row(subject, "error", what, (*said, *reasons))
        if remarks and state == "ok":
            state = "warning"
        return Row(subject, state, summary, (*said, *reasons))


def _is_said(message: str, reasons: tuple[str, ...]) -> bool:
    """The status says it already."""
    return any(message in it for it in reasons)


def _is_placed(reason: str, said: tuple[str, ...]) -> bool:
    """A remark says the same, and in which line of which file."""
    field = reason.partition(": ")[2]
    return bool(field) and any(it.endswith(f": {field}") for it in said)


def _judged(found: statuses.Status | None) -> tuple[State, str, tuple[str, ...]]:
    match found:
        case None:
            return "ok", "", ()
        case statuses.ContourStatus():
            return _of_contour(found)
        case statuses.IngressStatus():
            return _of_ingress(found)
        case statuses.GatewayClassStatus():
            return _by_conditions(found.conditions)
        case statuses.GatewayStatus() | statuses.ListenerSetStatus():
            own = ((f"listener {it.name}: ", it.conditions) for it in found.listeners)
            return _by_conditions(found.conditions, own)
        case statuses.PolicyStatus():
            those = ((f"Gateway {it.ancestor.name}: ", it.conditions) for it in found.ancestors)
            return _by_conditions((), those)
        case statuses.RouteStatus():
            parents = ((f"parent {it.parent.name}: ", it.conditions) for it in found.parents)
            if not found.parents:
                return "warning", "not attached to a Gateway of this controller", ()
            return _by_conditions((), parents)


def _of_contour(found: statuses.ContourStatus) -> tuple[State, str, tuple[str, ...]]:
    state: State = "error" if found.errors or found.current_status != "valid" else "ok"
    if state == "ok" and found.warnings:
        state = "warning"
    lines = tuple(_line(it) for it in (*found.errors, *found.warnings))
    if found.current_status == "orphaned":
        lines = (found.valid.message, *lines)
    return state, found.current_status, lines


def _of_ingress(found: statuses.IngressStatus) -> tuple[State, str, tuple[str, ...]]:
    lines = tuple(_line(it) for it in (*found.problems, *found.warnings))
    if found.problems:
        return "error", "has problems", lines
    return ("warning", "has warnings", lines) if lines else ("ok", "valid", ())


def _by_conditions(
    own: tuple[statuses.Condition, ...],
    parts: Iterable[tuple[str, tuple[statuses.Condition, ...]]] = (),
) -> tuple[State, str, tuple[str, ...]]:
    all_of_them = [("", own), *parts]
    bad = tuple(
        f"{where}{it.type}={it.status} {it.reason}: {it.message}"
        for where, conditions in all_of_them
        for it in conditions
        if is_bad(it)
    )
    warnings = tuple(
        f"{where}{text}"
        for where, conditions in all_of_them
        for it in conditions
        if not is_bad(it)
        for text in it.warnings
    )
    if bad:
        return "error", "see reasons", (*bad, *warnings)
    good = [it.type for _, conditions in all_of_them for it in conditions]
    summary = ", ".join(dict.fromkeys(good)) or "none"
    return "warning" if warnings else "ok", summary, warnings


_BAD_IF_TRUE = frozenset(
    {
        "Conflicted",
        "PartiallyInvalid",
        "OverlappingTLSConfig",
        "InsecureFrontendValidationMode",
        "UnservedGuard",
    }
)


def is_bad(condition: statuses.Condition) -> bool:
    """Whether it says that something is not as it should be, or that nobody knows."""
    return condition.status != ("False" if condition.type in _BAD_IF_TRUE else "True")


def _line(found: statuses.SubCondition) -> str:
    return f"{found.type}/{found.reason}: {found.message}"


def _metadata(subject: ObjectRef) -> dict[str, str]:
    return {"name": subject.name} | ({"namespace": subject.namespace} if subject.namespace else {})


def _api_version(kind: str) -> str:
    return _KINDS[kind].api_version


_KINDS: dict[str, Kind] = {found.kind: found for found in KINDS.values()}
