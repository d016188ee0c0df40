"""The single problems in a status, for Events about new ones. Pure.

Only problems that somebody has to solve: if a condition is still unknown, or waits for Envoys or
for an address, only the status says so. An Ingress has no conditions; its problems are reported
elsewhere (`contour.status.announcements`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contour.status.rows import is_bad
from dag import statuses


class Trouble(NamedTuple):
    """One problem."""

    reason: str
    """The reason, for programs."""
    message: str
    """The message, for people."""


def troubles(found: statuses.Status | None) -> tuple[Trouble, ...]:
    """The problems of a status, each once and in its order: errors before warnings."""
    return tuple(dict.fromkeys(_troubles(found)))


def _troubles(found: statuses.Status | None) -> Iterator[Trouble]:
    if isinstance(found, statuses.ContourStatus):
        yield from (Trouble(it.reason, it.message) for it in (*found.errors, *found.warnings))
    for where, conditions in _conditions(found):
        yield from _of(where, conditions)


def _conditions(
    found: statuses.Status | None,
) -> Iterator[tuple[str, tuple[statuses.Condition, ...]]]:
    """The conditions, each with the part of the object that it is about."""
    match found:
        case (
            statuses.GatewayClassStatus() | statuses.EnvoyConfigStatus() | statuses.BackendStatus()
        ):
            yield "", found.conditions
        case statuses.GatewayStatus() | statuses.ListenerSetStatus():
            yield "", found.conditions
            yield from ((f"listener {it.name}: ", it.conditions) for it in found.listeners)
        case statuses.PolicyStatus():
            those = found.ancestors
            yield from ((f"{it.ancestor.kind} {it.ancestor.name}: ", it.conditions) for it in those)
        case statuses.RouteStatus():
            yield from ((f"parent {it.parent.name}: ", it.conditions) for it in found.parents)
        case statuses.ContourStatus() | statuses.EventStatus() | None:
            pass


def _of(where: str, conditions: Iterable[statuses.Condition]) -> Iterator[Trouble]:
    for it in conditions:
        if is_bad(it) and it.status != "Unknown" and it.reason not in _PASSING:
            yield Trouble(it.reason, f"{where}{it.message}")
        elif not is_bad(it):
            yield from (Trouble("Warning", f"{where}{text}") for text in it.warnings)


_PASSING = frozenset({"Pending", "AddressNotAssigned", "NoResources"})
"""Reasons that usually disappear by themselves."""
