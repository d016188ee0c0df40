"""Parameters of Gateways and GatewayClasses, and why they make a Gateway unacceptable.

Source: "GatewayInfrastructure". Parameters of an unknown kind, missing or invalid ones make the
Gateway, or every Gateway of the class, unacceptable; so do addresses of a type that Envoy cannot
have. Parameters are a ContourConfiguration, of which only the settings of a fleet count
(`infrastructure`), or an EnvoyProxy. A Gateway's own may set only what harms nobody else: their
author may not be allowed to create pods. The same holds for those of a class in a namespace that
the configuration does not name.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from crds.contourconfiguration import ContourConfigurationSpec
from crds.envoysettings import Envoy
from crds.gateway.gateway import GatewaySpec
from crds.kinds import CONTOUR, ENVOY_GATEWAY, OLDER_ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.workloads import Placement, Workload
from dag import tables
from dag.configuration import reading, settings
from dag.engine.view import View, query
from dag.envoyproxy import reading as proxies
from dag.envoyproxy import restricted
from dag.envoyproxy.asked import Asked
from dag.problems import Problem, addresses
from dag.problems import envoyproxy as complaints
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import Gateway

ADDRESSES = ("IPAddress", "Hostname")
"""The types of addresses that can be asked for."""


@query
def refusal(view: View, gateway: NamespacedName) -> Problem | None:
    """Why none of the listeners of a Gateway can be served."""
    found = view.read(tables.GATEWAYS, gateway)
    if found is None:
        return None
    own = problems.gateway(gateway)
    parameters = of_gateway(view, gateway)
    if isinstance(parameters, Problem):
        return parameters
    its_class = NamespacedName("", found.spec.gateway_class_name)
    if isinstance(view.ask(of_class, its_class), Problem):
        return problems.parameters_of_class(own, its_class)
    return _addresses(found.spec, own)


@query
def closes(view: View, gateway: NamespacedName) -> bool:
    """Whether none of the listeners of a Gateway is served because of `refusal`.

    A Gateway with its own Envoys is not closed when its parameters become invalid: these keep
    running and serving. If there are none yet, none are made.
    """
    found = view.ask(refusal, gateway)
    if found is None or found.reason != Gateway.InvalidParameters:
        return found is not None
    return view.ask(settings.gateway_mode, ()) != "PerGateway"


Parameters = ContourConfigurationSpec | Asked


def of_gateway(view: View, gateway: NamespacedName) -> Parameters | Problem | None:
    """The parameters that a Gateway names, or what is wrong with them."""
    found = view.read(tables.GATEWAYS, gateway)
    infrastructure = found.spec.infrastructure if found is not None else None
    reference = infrastructure.parameters_ref if infrastructure is not None else None
    if reference is None:
        return None
    at = problems.gateway(gateway).at("infrastructure").at("parametersRef")
    if named := named_by_gateway(view, gateway):
        return _proxy(view, at, named.ref, ObjectRef("Gateway", *gateway))
    if (reference.group, reference.kind) != _KIND:
        return problems.parameters_not_known(at, reference.kind)
    key = NamespacedName(gateway.namespace, reference.name)
    return _parameters(view, at, key, ObjectRef("Gateway", *gateway))


@query
def of_class(view: View, key: NamespacedName) -> Parameters | Problem | None:
    """The parameters that a GatewayClass names, or what is wrong with them."""
    found = view.read(tables.GATEWAY_CLASSES, key)
    reference = found.spec.parameters_ref if found is not None else None
    if reference is None:
        return None
    at = problems.gateway_class(key).at("parametersRef")
    if named := named_by_class(view, key):
        return _proxy(view, at, named.ref, ObjectRef("GatewayClass", *key))
    if (reference.group, reference.kind) != _KIND:
        return problems.parameters_not_known(at, reference.kind)
    if reference.namespace is None:
        return problems.parameters_without_namespace(at)
    named_configuration = NamespacedName(reference.namespace, reference.name)
    return _parameters(view, at, named_configuration, ObjectRef("GatewayClass", *key))


class Named(NamedTuple):
    """An EnvoyProxy, with the API group by which it is named."""

    group: str
    ref: ObjectRef


def named_by_gateway(view: View, gateway: NamespacedName) -> Named | None:
    """The EnvoyProxy that a Gateway names; None if it names none."""
    found = view.read(tables.GATEWAYS, gateway)
    infrastructure = found.spec.infrastructure if found is not None else None
    reference = infrastructure.parameters_ref if infrastructure is not None else None
    if reference is None or not is_proxy(reference.group, reference.kind):
        return None
    return Named(reference.group, ObjectRef("EnvoyProxy", gateway.namespace, reference.name))


def named_by_class(view: View, key: NamespacedName) -> Named | None:
    """The EnvoyProxy that a GatewayClass names, by default in the instance's namespace; None if it
    names none."""
    found = view.read(tables.GATEWAY_CLASSES, key)
    reference = found.spec.parameters_ref if found is not None else None
    if reference is None or not is_proxy(reference.group, reference.kind):
        return None
    namespace = reference.namespace or view.ask(instance_namespace, ())
    return Named(reference.group, ObjectRef("EnvoyProxy", namespace, reference.name))


def is_proxy(group: str, kind: str) -> bool:
    """Whether a reference is to an EnvoyProxy."""
    return kind == "EnvoyProxy" and group in (ENVOY_GATEWAY, OLDER_ENVOY_GATEWAY)


@query
def instance_namespace(view: View, _: tuple[()]) -> str:
    """The namespace of the ContourConfiguration; `default` if there is none, as in files."""
    name = view.read(tables.CONFIGURATION_NAME, ())
    found = view.ask(settings.chosen_configuration, ())
    if name is not None:
        return name.namespace
    return found.metadata.namespace if found is not None else "default"


_KIND = (CONTOUR, "ContourConfiguration")


def refused_powers(
    view: View, namespace: str, namer: ObjectRef
) -> Callable[[ObjectRef, str], Problem] | None:
    """Makes the problem for a field that parameters in a namespace may not set if `namer` names
    them; None if they may set everything."""
    if namer.kind == "Gateway":
        return complaints.not_for_gateways
    trusted = view.ask(settings.parameters_namespaces, ())
    is_trusted = namespace in (trusted or (view.ask(instance_namespace, ()),))
    return None if is_trusted else complaints.not_in_this_namespace


def may_set_everything(view: View, namer: ObjectRef) -> bool:
    """Whether the ContourConfiguration that a Gateway or GatewayClass names may set every field."""
    found = view.read(tables.GATEWAY_CLASSES, namer.key) if namer.kind == "GatewayClass" else None
    reference = found.spec.parameters_ref if found is not None else None
    namespace = (reference.namespace if reference is not None else None) or ""
    return refused_powers(view, namespace, namer) is None


def _proxy(view: View, at: Place, subject: ObjectRef, namer: ObjectRef) -> Asked | Problem:
    """What an EnvoyProxy asks for, or why `namer` cannot use it."""
    found = view.read(tables.ENVOY_PROXIES, subject.key)
    if found is None:
        fault = view.read(tables.NOT_TAKEN, subject)
        if fault is not None:
            return problems.parameters_not_valid(at, subject, (fault,))
        return problems.parameters_not_found(at, subject)
    asked, errors = proxies.resolved(found)
    refuse = refused_powers(view, subject.namespace, namer)
    if refuse is not None:
        errors = (*errors, *(refuse(subject, path) for path in asked.powers))
    if errors:
        return problems.parameters_not_valid(at, subject, (it.message for it in errors))
    return asked


def _parameters(
    view: View, at: Place, key: NamespacedName, namer: ObjectRef
) -> ContourConfigurationSpec | Problem:
    """What a ContourConfiguration says, or why `namer` cannot use it."""
    found = view.read(tables.CONFIGURATIONS, key)
    subject = ObjectRef("ContourConfiguration", *key)
    if found is None:
        return problems.parameters_not_found(at, subject)
    errors = view.ask(_faults, key)
    refuse = refused_powers(view, key.namespace, namer)
    if refuse is not None and found.spec.envoy is not None:
        errors = (*errors, *(it.message for it in _refused(subject, found.spec.envoy, refuse)))
    return problems.parameters_not_valid(at, subject, errors) if errors else found.spec


def _refused(
    subject: ObjectRef, envoy: Envoy, refuse: Callable[[ObjectRef, str], Problem]
) -> Iterator[Problem]:
    """Refusals of those settings that an EnvoyProxy could not set either."""
    at, workload = Place(subject).at("envoy"), envoy.workload or Workload()
    placement, annotations = workload.placement or Placement(), workload.pod_annotations
    powers = {
        at.at("bootstrap"): envoy.bootstrap,
        at.at("workload").at("placement").at("nodeSelector"): placement.node_selector,
        at.at("workload").at("placement").at("tolerations"): placement.tolerations,
    }
    yield from (refuse(subject, place.path) for place, it in powers.items() if it)
    yield from restricted.annotations(at.at("workload").at("podAnnotations"), annotations)


@query
def _faults(view: View, key: NamespacedName) -> tuple[str, ...]:
    found = view.read(tables.CONFIGURATIONS, key)
    errors = reading.resolved(found)[1] if found is not None else ()
    return tuple(it.message for it in errors)


def _addresses(spec: GatewaySpec, own: Place) -> Problem | None:
    for index, address in enumerate(spec.addresses):
        if address.type not in ADDRESSES:
            return addresses.address_not_supported(own.at("addresses", index), address.type)
    return None
