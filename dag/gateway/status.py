"""What owners of GatewayClasses and Gateways are told (Gateway API, "GatewayConditionType").

Every class of our controller gets a status, and every Gateway of the class that is served;
nothing else does. A Gateway is programmed when one of its listeners is: whether Envoy took them
is told elsewhere. Elsewhere: each listener (`listenerstatus`), routes (`routestatus`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from crds.gateway.gateway import Gateway
from crds.meta import NamespacedName
from crds.unserved import unserved
from dag import tables
from dag.gateway import conditions, features, listeners, listenerstatus, selection
from dag.gateway.listeners import Verdict
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.statuses import Condition, GatewayClassStatus, GatewayStatus
from dag.view import View, query


@query
def gateway_class(view: View, key: NamespacedName) -> GatewayClassStatus | None:
    """What a GatewayClass is told."""
    found = view.read(tables.GATEWAY_CLASSES, key)
    if found is None or not view.ask(selection.is_of_our_controller, key):
        return None
    own, winner = problems.gateway_class(key), view.ask(selection.accepted_class, ())
    told = list(_unserved(found, own))
    if winner is not None and winner != key:
        told.append(problems.older_class_exists(own, winner))
    accepted = conditions.condition("Accepted", told, "the class is served")
    return GatewayClassStatus((accepted,), features.SUPPORTED)


@query
def gateway(view: View, key: NamespacedName) -> GatewayStatus | None:
    """What a Gateway is told."""
    found = view.read(tables.GATEWAYS, key)
    if found is None or not view.ask(selection.is_ours, key):
        return None
    own, winner = problems.gateway(key), view.ask(selection.in_charge, ())
    if winner is not None and winner != key:
        told = (problems.older_gateway_exists(own, winner), problems.not_programmed(own))
        return GatewayStatus(tuple(_conditions(told)))
    verdicts = view.ask(listeners.verdicts, key)
    return GatewayStatus(
        conditions=tuple(_conditions((*_summary(found, verdicts, own), *_unserved(found, own)))),
        listeners=tuple(listenerstatus.listener(view, key, it) for it in verdicts),
    )


def _conditions(told: Sequence[Problem]) -> Iterator[Condition]:
    yield conditions.condition("Accepted", told, "the Gateway is served")
    yield conditions.condition("Programmed", told, "Envoy serves it")
    yield conditions.condition("ResolvedRefs", told, "every reference is resolved")


def _summary(found: Gateway, verdicts: Sequence[Verdict], own: Place) -> Iterator[Problem]:
    """What is wrong with the whole, and what the listeners together mean for it."""
    whole = tuple(listeners.refusals(found))
    idle = [it.door.section for it in verdicts if not it.is_served]
    if len(idle) == len(verdicts):
        yield from whole or (problems.no_listener_valid(own),)
        yield problems.not_programmed(own)
    elif idle:
        yield problems.some_listeners_not_valid(own, idle)
    unresolved = [it.door.section for it in verdicts if not it.is_resolved]
    if unresolved:
        yield problems.listeners_not_resolved(own, unresolved)


def _unserved(found: Any, own: Place) -> Iterator[Problem]:
    """Fields that guard something are told where they close it: on the listeners."""
    for field in unserved(found):
        if not field.guards:
            yield problems.not_served_yet(Place(own.subject, field.path))
