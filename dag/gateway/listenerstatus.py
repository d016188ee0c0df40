"""The status of a listener (Gateway API, "ListenerConditionType").

A conflict is reported in three conditions, with one reason, as the conformance suite expects. The
number of attached routes is the size of an index bucket: a broken listener counts them too.
"""

from collections.abc import Iterable, Iterator

from crds.records import replace
from dag.engine.view import View
from dag.gateway import attachment, conditions
from dag.gateway.listeners import ListenerState
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import Condition, ListenerStatus


def listener(view: View, state: ListenerState) -> ListenerStatus:
    """The status of a listener."""
    section = state.spec.section
    return ListenerStatus(
        name=section.name,
        supported_kinds=state.spec.kinds,
        attached_routes=view.count(attachment.COUNTED, section),
        conditions=tuple(_conditions(view, state)),
    )


def _conditions(view: View, state: ListenerState) -> Iterator[Condition]:
    told = state.problems
    conflicts = [it for it in told if it.type == ConditionType.Conflicted]
    refused = [*told, *_told_as(ConditionType.Accepted, conflicts)]
    yield conditions.condition(ConditionType.Accepted, refused, "the listener can be served")
    yield conditions.condition(ConditionType.ResolvedRefs, told, "every reference is resolved")
    holder = Place(state.spec.section.holder)
    idle = _told_as(ConditionType.Programmed, conflicts) or [problems.not_programmed(holder)]
    if state.is_closed:
        idle = [unguarded.listener_is_closed(it) for it in state.closing]
    yield conditions.programmed(view, () if state.is_served else idle)
    yield from conditions.alarm(ConditionType.Conflicted, told)
    yield from conditions.alarm(ConditionType.OverlappingTLSConfig, told)


def _told_as(type_: ConditionType, found: Iterable[Problem]) -> list[Problem]:
    return [replace(it, type=type_) for it in found]
