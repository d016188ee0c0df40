"""The status of an EnvoyProxy: an entry for each GatewayClass and Gateway of ours that names it.

Errors in the object are the same for all of them; what it may set depends on the object that names
it (`parameters`). If none of ours names it, it has no status.
"""

from collections.abc import Iterable, Iterator

from crds.gateway.gateway import Gateway
from crds.gateway.gatewayclass import GatewayClass
from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, View, query
from dag.envoyproxy import reading
from dag.gateway import conditions, parameters, selection
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus

MOST_ANCESTORS = 16
"""The most ancestors that the API stores."""


@query
def envoy_proxy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of an EnvoyProxy; None if no object of ours names it."""
    found, name = view.read(tables.ENVOY_PROXIES, key), view.ask(settings.controller_name, ())
    namers = tuple(_namers(view, key))[:MOST_ANCESTORS]
    if found is None or not namers:
        return None
    _, errors = reading.resolved(found)
    common = (*errors, *reading.ignored(found), *_not_taken(view, key))
    return PolicyStatus(
        tuple(
            AncestorStatus(_named(it), name, (_accepted((*common, *_of_role(view, key, it))),))
            for it in namers
        )
    )


def _namers(view: View, key: NamespacedName) -> Iterator[ObjectRef]:
    at_home = key.namespace == view.ask(parameters.instance_namespace, ())
    without = view.bucket(CLASSES, key._replace(namespace="")) if at_home else ()
    for it in sorted({*view.bucket(CLASSES, key), *without}):
        if view.ask(selection.is_of_our_controller, it):
            yield ObjectRef("GatewayClass", *it)
    for it in sorted(view.bucket(GATEWAYS, key)):
        if view.ask(selection.is_ours, it):
            yield ObjectRef("Gateway", *it)


def _not_taken(view: View, key: NamespacedName) -> Iterator[Problem]:
    subject = ObjectRef(problems.KIND, *key)
    fault = view.read(tables.NOT_TAKEN, subject)
    if fault is not None:
        yield problems.version_not_taken(subject, fault)


def _of_role(view: View, key: NamespacedName, namer: ObjectRef) -> Iterator[Problem]:
    """Problems with fields that it may not set for the object that names it."""
    refuse = parameters.refused_powers(view, key.namespace, namer)
    found = view.read(tables.ENVOY_PROXIES, key)
    if found is not None and refuse is not None:
        subject = ObjectRef(problems.KIND, *key)
        yield from (refuse(subject, path) for path in reading.resolved(found)[0].powers)


def _accepted(told: Iterable[Problem]) -> Condition:
    return conditions.condition(ConditionType.Accepted, told, "the EnvoyProxy is used")


def _named(namer: ObjectRef) -> ParentReference:
    if namer.kind == "Gateway":
        return ParentReference(name=namer.name, namespace=namer.namespace)
    return ParentReference(kind=namer.kind, name=namer.name)


def _of_class(
    key: NamespacedName, found: GatewayClass
) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    it = found.spec.parameters_ref
    if it is not None and parameters.is_proxy(it.group, it.kind):
        yield NamespacedName(it.namespace or "", it.name), key


def _of_gateway(
    key: NamespacedName, found: Gateway
) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    it = found.spec.infrastructure and found.spec.infrastructure.parameters_ref
    if it and parameters.is_proxy(it.group, it.kind):
        yield NamespacedName(key.namespace, it.name), key


CLASSES: Index[NamespacedName, NamespacedName] = Index(
    "GatewayClasses that name an EnvoyProxy", tables.GATEWAY_CLASSES, _of_class
)
"""By its key; with an empty namespace where the class does not say one."""

GATEWAYS: Index[NamespacedName, NamespacedName] = Index(
    "Gateways that name an EnvoyProxy", tables.GATEWAYS, _of_gateway
)

INDEXES = (CLASSES, GATEWAYS)
