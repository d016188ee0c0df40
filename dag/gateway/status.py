"""The statuses of GatewayClasses and Gateways (Gateway API, "GatewayConditionType").

Every class of our controller gets a status, and every Gateway of the class that is served; nothing
else does. A Gateway is programmed when one of its listeners is; whether Envoy accepted them is
added in `dag.refusals`. Elsewhere: each listener (`listenerstatus`), ListenerSets, which never
lower their Gateway (`listenersetstatus`), routes (`routestatus`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from crds.gateway.gateway import Gateway
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import (
    addresses,
    backendcertificate,
    clients,
    conditions,
    crdversions,
    features,
    infrastructure,
    listeners,
    listenersetstatus,
    listenerstatus,
    parameters,
    selection,
    statusoverflow,
)
from dag.gateway.listeners import ListenerState
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import Address, Condition, GatewayClassStatus, GatewayStatus


@query
def gateway_class(view: View, key: NamespacedName) -> GatewayClassStatus | None:
    """The status of a GatewayClass; None if it is not of our controller."""
    found = view.read(tables.GATEWAY_CLASSES, key)
    if found is None or not view.ask(selection.is_of_our_controller, key):
        return None
    own, winner = problems.gateway_class(key), view.ask(selection.accepted_class, ())
    told = [*infrastructure.told_of_class(view, key), *crdversions.problem(view, own)]
    if winner is not None and winner != key:
        told.append(problems.older_class_exists(own, winner))
    if found.metadata.deletion_timestamp is not None and view.ask(selection.is_in_use, key):
        told.append(problems.class_stays(own))
    return GatewayClassStatus(
        (
            conditions.condition(ConditionType.Accepted, told, "the class is served"),
            conditions.condition(
                ConditionType.SupportedVersion, told, "the CRDs are of a version we know"
            ),
        ),
        features.claimed(
            features.Installed(
                crdversions.has_names_of_1_7(view),
                crdversions.is_experimental(view),
                view.ask(settings.makes_fleet, ()),
                frozenset(it for it in ("ClusterTrustBundle",) if view.read(tables.ABSENT, it)),
            )
        ),
    )


@query
def gateway(view: View, key: NamespacedName) -> GatewayStatus | None:
    """The status of a Gateway; None if it is not for us to write one."""
    found = view.read(tables.GATEWAYS, key)
    if found is None:
        return None
    if not view.ask(selection.is_ours, key):
        return _of_an_unserved_class(view, key, found)
    own, winner = problems.gateway(key), view.ask(selection.in_charge, ())
    if winner is not None and winner != key:
        told = (problems.older_gateway_exists(own, winner), problems.not_programmed(own))
        return GatewayStatus(tuple(_conditions(view, told)), addresses=_no_addresses(view))
    states = view.ask(listeners.states, ObjectRef("Gateway", *key))
    whole = (
        *_summary(view, key, states),
        *_references(view, key),
        *infrastructure.problems_of(view, key),
        *_unknown(found, own),
        *statusoverflow.problems_of(view, key),
    )
    return GatewayStatus(
        conditions=(*_conditions(view, whole), *_addressed(view, key, whole)),
        listeners=tuple(listenerstatus.listener(view, it) for it in states),
        attached_listener_sets=view.count(listenersetstatus.ATTACHED, key),
        addresses=view.ask(addresses.assigned, key),
    )


def _of_an_unserved_class(view: View, key: NamespacedName, found: Gateway) -> GatewayStatus | None:
    """The status of a Gateway of a younger class of ours; None if its class is not ours."""
    name, winner = found.spec.gateway_class_name, view.ask(selection.accepted_class, ())
    is_ours = view.ask(selection.is_of_our_controller, NamespacedName("", name))
    if winner is None or not is_ours or found.metadata.deletion_timestamp is not None:
        return None
    own = problems.gateway(key)
    told = (problems.older_class_exists(own, winner), problems.not_programmed(own))
    return GatewayStatus(tuple(_conditions(view, told)), addresses=_no_addresses(view))


def _no_addresses(view: View) -> tuple[Address, ...] | None:
    """The addresses of a Gateway that waits: none; None where nothing assigns any."""
    return () if view.read(addresses.ASSIGNED, DEFAULT_FLEET) is not None else None


def _addressed(view: View, key: NamespacedName, told: Sequence[Problem]) -> Iterator[Condition]:
    if addresses.is_reconciled(view, key):
        good = "every address that is asked for is assigned"
        yield conditions.condition(ConditionType.AddressesAssigned, told, good)


def _conditions(view: View, told: Sequence[Problem]) -> Iterator[Condition]:
    yield conditions.condition(ConditionType.Accepted, told, "the Gateway is served")
    yield conditions.programmed(view, told)
    yield conditions.condition(ConditionType.ResolvedRefs, told, "every reference is resolved")
    yield from conditions.alarm(ConditionType.InsecureFrontendValidationMode, told)


def _summary(view: View, key: NamespacedName, states: Sequence[ListenerState]) -> Iterator[Problem]:
    """What is wrong with the Gateway as a whole, and what its listeners together mean for it."""
    own, whole = problems.gateway(key), view.ask(parameters.refusal, key)
    idle = [it.spec.section.name for it in states if not it.is_served]
    if whole is not None or len(idle) == len(states):
        yield whole or problems.no_listener_valid(own)
        yield problems.not_programmed(own)
    else:
        yield from addresses.problems_of(view, key)
        if idle:
            yield problems.some_listeners_not_valid(own, idle)
    unresolved = [it.spec.section.name for it in states if not it.is_resolved]
    if unresolved:
        yield problems.listeners_not_resolved(own, unresolved)


def _references(view: View, key: NamespacedName) -> Iterator[Problem]:
    """Settings for all listeners that lead nowhere, or that let any client in."""
    certificate = view.ask(backendcertificate.found, key)
    if isinstance(certificate, Problem):
        yield certificate
    if view.ask(clients.is_insecure, key):
        yield unguarded.lets_everybody_in(problems.gateway(key))


def _unknown(found: Any, own: Place) -> Iterator[Problem]:
    """Values of a later version that are not reported on a listener."""
    for value in unknown_values(found):
        if not value.path.startswith(("spec.listeners[", "spec.tls.frontend.")):
            yield problems.value_without_effect(Place(own.subject, value.path), value.message)
