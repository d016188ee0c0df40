"""What a status says is wrong, one by one: for Events, which tell of it when it appears. Pure.

Only what somebody has to do something about: a condition that is unknown yet, or that waits for
Envoys or for an address, says so in the status alone. An Ingress has no conditions; its problems
are told elsewhere (`contour.status.announcements`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contour.status.rows import is_bad
from dag import statuses


class Trouble(NamedTuple):
    """One thing that is wrong."""

    reason: str
    """For programs."""
    message: str
    """For people."""


def troubles(found: statuses.Status | None) -> tuple[Trouble, ...]:
    """Each of them once, in the order of the status: errors before warnings."""
    return tuple(dict.fromkeys(_troubles(found)))


def _troubles(found: statuses.Status | None) -> Iterator[Trouble]:
    if isinstance(found, statuses.ContourStatus):
        yield from (Trouble(it.reason, it.message) for it in (*found.errors, *found.warnings))
    for where, conditions in _conditions(found):
        yield from _of(where, conditions)


def _conditions(
    found: statuses.Status | None,
) -> Iterator[tuple[str, tuple[statuses.Condition, ...]]]:
    """With the part of the object that they are about."""
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
"""Reasons that go by themselves, as a rule."""
