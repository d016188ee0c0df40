"""What happened to an object, as one line. Pure.

An object is compared with its state in the last line about it: the line names new problems; without
any, it says that the object is valid again, or that it has changed.
"""

from typing import NamedTuple

from contour.console.terminal import Mark
from contour.status.board import KEPT
from contour.status.rows import Row, Told

Line = tuple[Mark, str]


class Known(NamedTuple):
    """The state of an object in the last line about it."""

    state: str
    told: frozenset[str]
    """The problems that were reported."""


class Effect(NamedTuple):
    """What a change did in Envoy."""

    seconds: float | None
    """How long it took until Envoy had it; None if it does not have it yet."""
    is_any: bool = True
    """Whether anything of it concerned the Envoy of this run."""
    is_for_nodes: bool = False
    """Whether anything of it concerned Envoys of node IDs."""

    def __str__(self) -> str:
        if not self.is_any:
            return "for Envoys of node IDs" if self.is_for_nodes else "no effect on Envoy"
        if self.seconds is None:
            return "Envoy does not have it yet"
        return f"in Envoy after {duration(self.seconds)}"


def known(row: Row) -> Known:
    """What is remembered of an object that was reported."""
    return Known(row.state, frozenset(it.text for it in row.told))


def line(row: Row, before: Known | None, effect: Effect | None) -> Line | None:
    """What to say of an object now; None if there is nothing new.

    `effect` is None if no file that defines the object has changed.
    """
    name, old = _name(row), before.told if before else frozenset[str]()
    fresh = [it for it in row.told if it.text not in old]
    if fresh:
        return _mark(fresh), f"{name}: {_told(fresh)}{_kept(row)}"
    if before is not None and len(row.told) < len(old):
        return _better(row, before, f" ({effect})" if effect else "")
    if effect is None:
        return None
    if before is None:
        return "new", f"{name} ({effect})"
    return "changed", f"{name} changed ({effect})"


def _better(row: Row, before: Known, effect: str) -> Line:
    """The line for an object with fewer problems than before."""
    name = _name(row)
    if before.state != "ok" and row.state == "ok":
        return "good", f"{name} is valid again{effect}"
    if not row.told:
        return "good", f"{name} has all that it needs again{effect}"
    return "changed", f"{name}: {len(row.told)} of {len(before.told)} problems left{effect}"


def gone(row: Row, effect: Effect | None) -> Line:
    """What to say of an object that no file defines any more."""
    return "gone", f"{_name(row)} removed ({effect})" if effect else f"{_name(row)} removed"


def file(name: str, *, is_there: bool) -> Line:
    """What to say of a file with which nothing is wrong any more."""
    return ("good", f"{name} can be read") if is_there else ("gone", f"{name} removed")


def problem(row: Row) -> Line:
    """What is wrong with an object, at the start."""
    return _mark(row.told), f"{_name(row)}: {_told(row.told)}{_kept(row)}"


def _name(row: Row) -> str:
    return row.subject.name if row.subject.kind == "File" else str(row.subject)


def _kept(row: Row) -> str:
    return "; its last good version stays" if row.summary == KEPT else ""


def _mark(told: list[Told] | tuple[Told, ...]) -> Mark:
    return "bad" if any(it.severity == "error" for it in told) else "note"


def _told(told: list[Told] | tuple[Told, ...]) -> str:
    """The worst problem with its place, and how many more there are."""
    first = min(told, key=lambda it: ("error", "warning", "info").index(it.severity))
    place = f" [{first.file}:{first.line}]" if first.line else ""
    field = f"{first.field}: " if first.field else ""
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return f"{field}{first.message}{place}{more}"


def duration(seconds: float) -> str:
    """Seconds, for people."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
