"""The statuses of BackendTLSPolicies, XBackends and Backends to which Gateways lead.

The status has the Gateways whose routes, listener filters or traces lead to a target of the policy
(GEP-713), or to the backend; and the Services whose gRPC clients follow a route there, which keep
no policy. They are found through indexes of what each route or Gateway reaches, so one that comes
or goes wakes only the policies of its own Services.
"""

from collections.abc import Iterable, Iterator, Sequence

from crds.gateway.backendtlspolicy import BackendTLSPolicy, PolicyTarget
from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from crds.unserved import unserved
from dag import backendaddresses, hints, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import (
    attachment,
    backends,
    conditions,
    envoybackends,
    listenerfilters,
    listenersets,
    policies,
    routes,
    serviceparents,
    telemetry,
    xbackends,
)
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, BackendStatus, Condition, PolicyStatus, most_ancestors

Reached = tuple[ObjectRef, NamespacedName]
"""A Service, XBackend or Backend, and a Gateway through which it is reached."""


@query
def reached(view: View, ref: ObjectRef) -> frozenset[Reached]:
    """The backends that a route leads to, with each Gateway that it is attached to."""
    found = view.ask(attachment.attachment, ref)
    if found is None:
        return frozenset()
    gateways = {it.gateway for it in found.parents if it.refusal is None}
    leads_to = routes.rules(view, ref).leads_to
    return frozenset((it, gateway) for it in leads_to for gateway in gateways)


@query
def reached_by_clients(view: View, ref: ObjectRef) -> frozenset[Reached]:
    """The backends that a route leads to, with each Service whose gRPC clients follow it."""
    found = view.ask(serviceparents.service_attachment, ref)
    if found is None:
        return frozenset()
    services = {port.service for it in found.parents for port in it.ports}
    leads_to = routes.rules(view, ref).leads_to
    return frozenset((it, service) for it in leads_to for service in services)


@query
def reached_by_filters(view: View, holder: ObjectRef) -> frozenset[Reached]:
    """The Services and other backends that listener filters of a Gateway or ListenerSet call, or
    that get its traces; with the Gateway."""
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
    """The status of a policy; None if neither a Gateway of ours nor gRPC clients are led to its
    targets."""
    found = view.read(tables.BACKEND_TLS_POLICIES, key)
    if found is None:
        return None
    targets = [ObjectRef(it.kind, *it.service) for it in policies.targets(found)]
    gateways, told = gateways_to(view, targets), FOR_NOBODY
    if gateways:
        told = policy_status(view, gateways, _conditions(_told(view, key, found)))
    return with_clients(view, told, targets, complaints.tls_of_clients(complaints.policy(key)))


@query
def xbackend(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of an XBackend; None if no Gateway of ours leads to it."""
    gateways = gateways_to(view, [ObjectRef(xbackends.KIND, *key)])
    if not gateways or view.read(tables.XBACKENDS, key) is None:
        return None
    told = view.ask(xbackends.wanted, key).problems
    conditions = _conditions(told, "the backend is served")
    return policy_status(view, gateways, conditions, xbackends.KIND)


@query
def backend(view: View, key: NamespacedName) -> BackendStatus | None:
    """The status of a Backend; None if no Gateway of ours leads to it: it may belong to others."""
    gateways = gateways_to(view, [ObjectRef(envoybackends.KIND, *key)])
    if not gateways or view.read(tables.BACKENDS, key) is None:
        return None
    told, good = view.ask(envoybackends.wanted, key).problems, "the backend is served"
    return BackendStatus((conditions.condition(ConditionType.Accepted, told, good),))


def gateways_to(view: View, reached: Iterable[ObjectRef]) -> list[NamespacedName]:
    """The Gateways of ours that lead to one of several backends, sorted."""
    indexes = (GATEWAYS, FILTERING)
    return sorted({it for ref in reached for index in indexes for it in view.bucket(index, ref)})


def policy_status(
    view: View,
    gateways: Sequence[NamespacedName],
    told: Iterable[Condition],
    kind: str = "BackendTLSPolicy",
) -> PolicyStatus:
    """The status with the conditions for each Gateway, as many as fit."""
    name, conditions_ = view.ask(settings.controller_name, ()), tuple(told)
    first = gateways[: most_ancestors(kind)]
    return PolicyStatus(tuple(AncestorStatus(_named(it), name, conditions_) for it in first))


FOR_NOBODY = PolicyStatus(())


def with_clients(
    view: View, found: PolicyStatus, targets: Iterable[ObjectRef], why: Problem
) -> PolicyStatus | None:
    """The status of a policy that gRPC clients do not keep, with the Services whose clients are led
    to a target; None if it is for nobody."""
    name = settings.controller_in_statuses(view.ask(settings.controller_name, ()))
    accepted = conditions.condition(ConditionType.Accepted, [why], "")
    services = sorted({it for ref in targets for it in view.bucket(CALLING, ref)})
    parents = (_service(it) for it in services)
    every = (*found.ancestors, *(AncestorStatus(it, name, (accepted,)) for it in parents))
    return PolicyStatus(every[: most_ancestors(why.subject.kind)]) if every else None


def _service(key: NamespacedName) -> ParentReference:
    return ParentReference(group="", kind="Service", name=key.name, namespace=key.namespace)


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
    if (target.group, target.kind) not in policies.TARGETS:
        kind = f"{target.group}/{target.kind}".lstrip("/")
        why = f"kind {kind} is not supported; use Service or {envoybackends.KIND}"
        yield complaints.policy_target_not_found(at, why)
        return
    ref = ObjectRef(target.kind, key.namespace, target.name)
    of_kind = port_numbers if target.kind == envoybackends.KIND else port_names
    ports = view.ask(of_kind, ref.key)
    if ports is None:
        yield complaints.policy_target_not_found(at, _not_found(view, ref))
    elif target.section_name is not None and target.section_name not in ports:
        why = f"{ref} has no port {target.section_name}"
        if target.kind == envoybackends.KIND:
            why = f"not all endpoints of {ref} have the port {target.section_name}"
        yield complaints.policy_target_not_found(at, why)


@query
def port_names(view: View, service: NamespacedName) -> frozenset[str] | None:
    """The names of the ports of a Service; None if it does not exist."""
    found = view.read(tables.SERVICES, service)
    return frozenset(it.name for it in found.spec.ports) if found is not None else None


@query
def port_numbers(view: View, backend_: NamespacedName) -> frozenset[str] | None:
    """The one port of all endpoints of a Backend, if they share one; None if it does not exist."""
    found = view.read(tables.BACKENDS, backend_)
    if found is None:
        return None
    ports = {it.port for it in view.ask(backendaddresses.located, backend_).endpoints}
    return frozenset(map(str, ports)) if len(ports) == 1 else frozenset()


def _conditions(told: Iterable[Problem], good: str = "the policy holds") -> Iterator[Condition]:
    found = tuple(told)
    yield conditions.condition(ConditionType.Accepted, found, good)
    yield conditions.condition(ConditionType.ResolvedRefs, found, "every reference is resolved")


def _gateway(_: ObjectRef, found: frozenset[Reached]) -> Iterator[tuple[ObjectRef, NamespacedName]]:
    return iter(found)


GATEWAYS: Index[ObjectRef, NamespacedName] = Index(
    "Gateways that lead to a backend", reached, _gateway
)

FILTERING: Index[ObjectRef, NamespacedName] = Index(
    "Gateways whose filters ask a backend", reached_by_filters, _gateway
)

CALLING: Index[ObjectRef, NamespacedName] = Index(
    "Services whose clients are led to a backend", reached_by_clients, _gateway
)

INDEXES = (GATEWAYS, FILTERING, CALLING)
KEPT = (
    *routes.kept(reached),
    Kept(reached_by_clients, tables.GRPCROUTES, routes.ref_of(serviceparents.KIND)),
    Kept(reached_by_filters, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(reached_by_filters, tables.LISTENER_SETS, listenersets.ref),
)


def _not_found(view: View, ref: ObjectRef) -> str:
    return f"{ref} not found{hints.hint(view, ref)}"
