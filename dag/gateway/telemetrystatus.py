"""The status of an XTelemetryPolicy, with an entry for each Gateway that it names."""

from collections.abc import Iterator

from crds.gateway.references import GROUP, LocalObjectReference, ParentReference
from crds.gateway.telemetrypolicy import XTelemetryPolicy
from crds.meta import NamespacedName, ObjectRef
from dag import hints, tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.gateway import conditions, selection, telemetry
from dag.problems import Problem
from dag.problems import telemetry as problems
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus


@query
def telemetry_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy; None if it names no Gateway of ours and none that does not exist."""
    found = view.read(tables.TELEMETRY_POLICIES, key)
    name = view.ask(settings.controller_name, ())
    if found is None or not name:
        return None
    entries = tuple(
        AncestorStatus(_named(it, key), name, tuple(_conditions(view, key, it, index)))
        for index, it in _targets(found)
        if _is_for_us(view, key, it)
    )
    return PolicyStatus(entries) if entries else None


def _targets(found: XTelemetryPolicy) -> Iterator[tuple[int, LocalObjectReference]]:
    """Each target once, with its first index."""
    seen: set[LocalObjectReference] = set()
    for index, it in enumerate(found.spec.target_refs):
        if it not in seen:
            seen.add(it)
            yield index, it


def _is_for_us(view: View, key: NamespacedName, target: LocalObjectReference) -> bool:
    """Whether a target gets an entry from us: a Gateway of ours, or one that does not exist."""
    if (target.group, target.kind) != (GROUP, "Gateway"):
        return False
    gateway = NamespacedName(key.namespace, target.name)
    return view.read(tables.GATEWAYS, gateway) is None or view.ask(selection.is_ours, gateway)


def _named(target: LocalObjectReference, key: NamespacedName) -> ParentReference:
    return ParentReference(name=target.name, namespace=key.namespace)


def _conditions(
    view: View, key: NamespacedName, target: LocalObjectReference, index: int
) -> Iterator[Condition]:
    told = tuple(_told(view, key, target, index))
    yield conditions.condition(ConditionType.Accepted, told, "the policy holds")
    yield conditions.condition(ConditionType.ResolvedRefs, told, "every reference is resolved")


def _told(
    view: View, key: NamespacedName, target: LocalObjectReference, index: int
) -> Iterator[Problem]:
    own, gateway = problems.policy(key), NamespacedName(key.namespace, target.name)
    yield from view.ask(telemetry.wanted, key).problems
    if view.read(tables.GATEWAYS, gateway) is None:
        hint = hints.hint(view, ObjectRef("Gateway", *gateway))
        yield problems.target_not_found(
            own.at("targetRefs", index), f"Gateway {gateway} not found{hint}"
        )
        return
    winner = view.ask(telemetry.winner, gateway)
    if winner is not None and winner != key:
        yield problems.conflicts(own, winner)
