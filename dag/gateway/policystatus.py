"""What the owner of a BackendTLSPolicy or XBackend is told, by each Gateway that it matters to.

Those are the Gateways whose routes, filters of listeners or traces lead to one of its Services
(GEP-713), or to the XBackend. They are found through indexes of what each route or Gateway reaches,
so one that comes or goes wakes only the policies of its own Services.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from crds.gateway.backendtlspolicy import BackendTLSPolicy, PolicyTarget
from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import unserved
from dag import hints, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import (
    attachment,
    backends,
    conditions,
    listenerfilters,
    listenersets,
    policies,
    routes,
    telemetry,
    xbackends,
)
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus

MOST_ANCESTORS = 16
"""As many as the API stores."""

Reached = tuple[ObjectRef, NamespacedName]
"""A Service or XBackend, and a Gateway through which it is reached."""


@query
def reached(view: View, ref: ObjectRef) -> frozenset[Reached]:
    """The Services and XBackends that a route leads to, with each Gateway that has it."""
    found = view.ask(attachment.attachment, ref)
    if found is None:
        return frozenset()
    gateways = {it.gateway for it in found.parents if it.refusal is None}
    leads_to = routes.rules(view, ref).leads_to
    return frozenset((it, gateway) for it in leads_to for gateway in gateways)


@query
def reached_by_filters(view: View, holder: ObjectRef) -> frozenset[Reached]:
    """The Services and XBackends that the filters of a Gateway or ListenerSet ask, and those that
    get the spans of a Gateway; with the Gateway."""
    found = view.read(tables.BY_KIND[holder.kind], holder.key)
    gateway = view.ask(listenersets.gateway_of, holder)
    if found is None or gateway is None:
        return frozenset()
    wanted = listenerfilters.references(found.spec.listeners)
    asked = {*backends.named(view, holder, wanted)}
    if holder.kind == "Gateway":
        asked |= {*telemetry.collectors(view, gateway)}
    return frozenset((it, gateway) for it in asked)


@query
def backend_tls_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """What a policy is told; None if no Gateway of ours leads to its Services."""
    found = view.read(tables.BACKEND_TLS_POLICIES, key)
    if found is None:
        return None
    services = [ObjectRef("Service", *it.service) for it in policies.targets(found)]
    gateways = _gateways(view, services)
    return _status(view, gateways, _conditions(_told(view, key, found))) if gateways else None


@query
def xbackend(view: View, key: NamespacedName) -> PolicyStatus | None:
    """What an XBackend is told; None if no Gateway of ours leads to it."""
    gateways = _gateways(view, [ObjectRef(xbackends.KIND, *key)])
    if not gateways or view.read(tables.XBACKENDS, key) is None:
        return None
    told = view.ask(xbackends.wanted, key).problems
    return _status(view, gateways, _conditions(told, "the backend is served"))


def _gateways(view: View, reached: Iterable[ObjectRef]) -> list[NamespacedName]:
    indexes = (GATEWAYS, FILTERING)
    return sorted({it for ref in reached for index in indexes for it in view.bucket(index, ref)})


def _status(
    view: View, gateways: Sequence[NamespacedName], told: Iterable[Condition]
) -> PolicyStatus:
    """The same, in the name of each Gateway."""
    name, conditions_ = view.ask(settings.controller_name, ()), tuple(told)
    first = gateways[:MOST_ANCESTORS]
    return PolicyStatus(tuple(AncestorStatus(_named(it), name, conditions_) for it in first))


def _named(gateway: NamespacedName) -> ParentReference:
    return ParentReference(name=gateway.name, namespace=gateway.namespace)


def _told(view: View, key: NamespacedName, found: BackendTLSPolicy) -> Iterator[Problem]:
    own = complaints.policy(key)
    yield from view.ask(policies.wanted, key).problems
    conflicts = list(_conflicts(view, key, found))
    is_lost = len(conflicts) == len(policies.targets(found))
    yield from conflicts if is_lost else (replace(it, severity="warning") for it in conflicts)
    for index, target in enumerate(found.spec.target_refs):
        yield from _target(view, target, key, own.at("targetRefs", index))
    for field in unserved(found):
        yield problems.not_served_yet(Place(own.subject, field.path))


def _conflicts(view: View, key: NamespacedName, found: BackendTLSPolicy) -> Iterator[Problem]:
    for target in policies.targets(found):
        winner = view.ask(policies.winner, target)
        if winner is not None and winner != key:
            yield complaints.policy_conflicts(complaints.policy(key), winner)


def _target(view: View, target: PolicyTarget, key: NamespacedName, at: Place) -> Iterator[Problem]:
    if (target.group, target.kind) != ("", "Service"):
        kind = f"{target.group}/{target.kind}".lstrip("/")
        yield complaints.policy_target_not_found(at, f"kind {kind} is not supported; use Service")
        return
    name = NamespacedName(key.namespace, target.name)
    ports = view.ask(port_names, name)
    if ports is None:
        yield complaints.policy_target_not_found(at, _not_found(view, name))
    elif target.section_name is not None and target.section_name not in ports:
        why = f"Service {name} has no port {target.section_name}"
        yield complaints.policy_target_not_found(at, why)


@query
def port_names(view: View, service: NamespacedName) -> frozenset[str] | None:
    """The names of the ports of a Service; None if it is not there."""
    found = view.read(tables.SERVICES, service)
    return frozenset(it.name for it in found.spec.ports) if found is not None else None


def _conditions(told: Iterable[Problem], good: str = "the policy holds") -> Iterator[Condition]:
    found = tuple(told)
    yield conditions.condition(ConditionType.Accepted, found, good)
    yield conditions.condition(ConditionType.ResolvedRefs, found, "every reference is resolved")


def _gateway(_: ObjectRef, found: frozenset[Reached]) -> Iterator[tuple[ObjectRef, NamespacedName]]:
    return iter(found)


GATEWAYS: Index[ObjectRef, NamespacedName] = Index(
    "Gateways that lead to a Service or XBackend", reached, _gateway
)

FILTERING: Index[ObjectRef, NamespacedName] = Index(
    "Gateways whose filters ask a Service or XBackend", reached_by_filters, _gateway
)

INDEXES = (GATEWAYS, FILTERING)
KEPT = (
    *routes.kept(reached),
    Kept(reached_by_filters, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(reached_by_filters, tables.LISTENER_SETS, listenersets.ref),
)


def _not_found(view: View, name: NamespacedName) -> str:
    hint = hints.hint(view, ObjectRef("Service", *name))
    return f"Service {name} not found{hint}"
