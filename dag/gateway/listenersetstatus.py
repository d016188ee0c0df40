"""The status of a ListenerSet (GEP-1713, "ListenerSetConditionType").

A set is accepted while its Gateway is, and at least one of its listeners can be served; what is
wrong with a listener is in the status of that listener. The status of a set that its Gateway does
not take says so, and nothing of other sets.
"""

from collections.abc import Iterator, Sequence

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import conditions, listeners, listenersets, listenerstatus, parameters
from dag.gateway.listeners import ListenerState
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.reasons import ConditionType, Gateway, Word
from dag.statuses import Condition, ListenerSetStatus


@query
def listener_set(view: View, key: NamespacedName) -> ListenerSetStatus | None:
    """The status of a ListenerSet; None if it names no Gateway of ours."""
    found = view.ask(listenersets.admission, key)
    if found is None:
        return None
    if found.refusal is not None:
        return ListenerSetStatus(tuple(_conditions(view, (found.refusal,))))
    states = view.ask(listeners.states, ObjectRef(listenersets.KIND, *key))
    told = tuple(_summary(view, key, found.gateway, states))
    return ListenerSetStatus(
        conditions=tuple(_conditions(view, told)),
        listeners=tuple(listenerstatus.listener(view, it) for it in states),
    )


@query
def accepted(view: View, key: NamespacedName) -> NamespacedName | None:
    """The Gateway that counts a set as attached: it takes the set and serves a listener of it."""
    found = view.ask(listenersets.admission, key)
    if found is None or found.refusal is not None:
        return None
    states = view.ask(listeners.states, ObjectRef(listenersets.KIND, *key))
    return found.gateway if any(it.is_served for it in states) else None


def _conditions(view: View, told: Sequence[Problem]) -> Iterator[Condition]:
    """The conditions of a set; an error of Accepted is one of Programmed, too."""
    yield conditions.condition(ConditionType.Accepted, told, "the listeners are served")
    errors = [it for it in told if it.type == ConditionType.Accepted and it.severity == "error"]
    idle = [
        replace(it, type=ConditionType.Programmed, reason=_programmed(it.reason)) for it in errors
    ]
    yield conditions.programmed(view, idle)


def _programmed(reason: Word) -> Word:
    is_parents = reason is Gateway.ParentNotAccepted
    return Gateway.ParentNotProgrammed if is_parents else reason


def _summary(
    view: View, key: NamespacedName, gateway: NamespacedName, states: Sequence[ListenerState]
) -> Iterator[Problem]:
    own = problems.listener_set(key)
    idle = [it.spec.section.name for it in states if not it.is_served]
    if view.ask(parameters.closes, gateway):
        yield problems.parent_not_accepted(own, gateway)
    elif len(idle) == len(states):
        yield problems.no_listener_valid(own)
    elif idle:
        yield problems.some_listeners_not_valid(own, idle)


def _gateway(
    key: NamespacedName, gateway: NamespacedName
) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    yield gateway, key


ATTACHED: Index[NamespacedName, NamespacedName] = Index(
    "ListenerSets attached to a Gateway", accepted, _gateway
)

INDEXES = (ATTACHED,)
KEPT = (Kept(accepted, tables.LISTENER_SETS),)
