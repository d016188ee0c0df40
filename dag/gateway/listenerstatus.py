"""What the owner of a Gateway is told of each listener (Gateway API, "ListenerConditionType").

A conflict is told in three conditions, with one reason, as the conformance suite has it. The
number of attached routes is the size of an index bucket: a broken listener counts them too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from crds.meta import NamespacedName
from dag.gateway import attachment, conditions
from dag.gateway.attachment import Section
from dag.gateway.listeners import Verdict
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.statuses import Condition, ListenerStatus
from dag.view import View


def listener(view: View, gateway: NamespacedName, verdict: Verdict) -> ListenerStatus:
    """What is told of a listener."""
    section = Section(gateway, verdict.door.section)
    return ListenerStatus(
        name=verdict.door.section,
        supported_kinds=verdict.door.kinds,
        attached_routes=view.count(attachment.COUNTED, section),
        conditions=tuple(_conditions(gateway, verdict)),
    )


def _conditions(gateway: NamespacedName, verdict: Verdict) -> Iterator[Condition]:
    told = verdict.problems
    conflicts = [it for it in told if it.type == "Conflicted"]
    refused = [*told, *_told_as("Accepted", conflicts)]
    yield conditions.condition("Accepted", refused, "the listener can be served")
    yield conditions.condition("ResolvedRefs", told, "every reference is resolved")
    idle = _told_as("Programmed", conflicts) or [problems.not_programmed(problems.gateway(gateway))]
    yield conditions.condition("Programmed", () if verdict.is_served else idle, "Envoy serves it")
    yield from conditions.alarm("Conflicted", told)
    yield from conditions.alarm("OverlappingTLSConfig", told)


def _told_as(type_: str, found: Iterable[Problem]) -> list[Problem]:
    return [replace(it, type=type_) for it in found]
