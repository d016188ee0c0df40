"""Why nothing of a Gateway can be served, whatever its listeners say ("GatewayInfrastructure").

Parameters that are not known, not there or wrong make the Gateway, or every Gateway of the class,
unacceptable; so do addresses of a kind that Envoy cannot have. Parameters are a
ContourConfiguration, of which only what makes a fleet holds (`infrastructure`).
"""

from crds.contourconfiguration import ContourConfigurationSpec
from crds.gateway.gateway import GatewaySpec
from crds.kinds import CONTOUR
from crds.meta import NamespacedName
from dag import tables
from dag.configuration import reading
from dag.engine.view import View, query
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place

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


def of_gateway(view: View, gateway: NamespacedName) -> ContourConfigurationSpec | Problem | None:
    """The parameters that a Gateway names, or what is wrong with them."""
    found = view.read(tables.GATEWAYS, gateway)
    infrastructure = found.spec.infrastructure if found is not None else None
    reference = infrastructure.parameters_ref if infrastructure is not None else None
    if reference is None:
        return None
    at = problems.gateway(gateway).at("infrastructure").at("parametersRef")
    if (reference.group, reference.kind) != _KIND:
        return problems.parameters_not_known(at, reference.kind)
    return _parameters(view, at, NamespacedName(gateway.namespace, reference.name))


@query
def of_class(view: View, key: NamespacedName) -> ContourConfigurationSpec | Problem | None:
    """The parameters that a GatewayClass names, or what is wrong with them."""
    found = view.read(tables.GATEWAY_CLASSES, key)
    reference = found.spec.parameters_ref if found is not None else None
    if reference is None:
        return None
    at = problems.gateway_class(key).at("parametersRef")
    if (reference.group, reference.kind) != _KIND:
        return problems.parameters_not_known(at, reference.kind)
    if reference.namespace is None:
        return problems.parameters_without_namespace(at)
    return _parameters(view, at, NamespacedName(reference.namespace, reference.name))


_KIND = (CONTOUR, "ContourConfiguration")


def _parameters(view: View, at: Place, key: NamespacedName) -> ContourConfigurationSpec | Problem:
    found = view.read(tables.CONFIGURATIONS, key)
    if found is None:
        return problems.parameters_not_found(at, key)
    errors = view.ask(_faults, key)
    return problems.parameters_not_valid(at, key, errors) if errors else found.spec


@query
def _faults(view: View, key: NamespacedName) -> tuple[str, ...]:
    found = view.read(tables.CONFIGURATIONS, key)
    errors = reading.resolved(found)[1] if found is not None else ()
    return tuple(it.message for it in errors)


def _addresses(spec: GatewaySpec, own: Place) -> Problem | None:
    for index, address in enumerate(spec.addresses):
        if address.type not in ADDRESSES:
            return problems.address_not_supported(own.at("addresses", index), address.type)
    return None
