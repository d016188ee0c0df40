"""What the owner of a listener is told (Gateway API, "ListenerConditionType").

A conflict is told in three conditions, with one reason, as the conformance suite has it. The
number of attached routes is the size of an index bucket: a broken listener counts them too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dag.engine.view import View
from dag.gateway import attachment, conditions
from dag.gateway.listeners import Verdict
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.statuses import Condition, ListenerStatus


def listener(view: View, verdict: Verdict) -> ListenerStatus:
    """What is told of a listener."""
    section = verdict.door.section
    return ListenerStatus(
        name=section.name,
        supported_kinds=verdict.door.kinds,
        attached_routes=view.count(attachment.COUNTED, section),
        conditions=tuple(_conditions(view, verdict)),
    )


def _conditions(view: View, verdict: Verdict) -> Iterator[Condition]:
    told = verdict.problems
    conflicts = [it for it in told if it.type == "Conflicted"]
    refused = [*told, *_told_as("Accepted", conflicts)]
    yield conditions.condition("Accepted", refused, "the listener can be served")
    yield conditions.condition("ResolvedRefs", told, "every reference is resolved")
    holder = Place(verdict.door.section.holder)
    idle = _told_as("Programmed", conflicts) or [problems.not_programmed(holder)]
    if verdict.is_closed:
        guards = (it for it in told if it.type == "Accepted" and it.severity == "error")
        idle = [unguarded.listener_is_closed(it) for it in guards]
    yield conditions.programmed(view, () if verdict.is_served else idle)
    yield from conditions.alarm("Conflicted", told)
    yield from conditions.alarm("OverlappingTLSConfig", told)


def _told_as(type_: str, found: Iterable[Problem]) -> list[Problem]:
    return [replace(it, type=type_) for it in found]
