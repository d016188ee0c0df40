"""Whether what a ContourConfiguration says of the Service in front of Envoy makes sense.

A contradiction is an error with the path of the field, and nothing is made of it; a setting that a
cloud ignores is reported as one without effect. Sources: Contour's operator API
("NetworkPublishing") and its validation. Elsewhere: what is made of it (`provisioning.exposure`).
"""

from collections import Counter
from collections.abc import Iterator

from crds.envoysettings import Envoy
from crds.workloads import LoadBalancer, NetworkPublishing, OuterGateway, ProviderParameters
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.values import hostnames


def outer_class(spec: Place) -> Place:
    """The class of the Gateway in front of Envoy."""
    return _publishing(spec).at("gateway").at("gatewayClassName")


def problems_of(spec: Place, envoy: Envoy, own_controller: str) -> Iterator[Problem]:
    """The contradictions. `own_controller` is the name of ours; empty if it serves no Gateways."""
    ports = envoy.external_ports
    if ports is not None and ports.http == ports.https:
        place = spec.at("envoy").at("externalPorts").at("https")
        yield problems.invalid_value(place, f"{ports.https} is the port of plain HTTP already")
    publishing, at = envoy.network_publishing, _publishing(spec)
    if publishing is None:
        return
    yield from of_service(at, publishing)
    if publishing.gateway is not None:
        yield from _outer(at.at("gateway"), publishing.type, publishing.gateway, own_controller)


def of_service(at: Place, publishing: NetworkPublishing) -> Iterator[Problem]:
    """The contradictions of the Service alone, in whichever object it is written."""
    yield from _types(at, publishing)
    yield from _node_ports(at.at("nodePorts"), publishing)
    parameters = _parameters(publishing)
    if parameters is not None:
        yield from _blocks(_provider(at), parameters)
        yield from _addresses(_provider(at), parameters)


def without_effect(spec: Place, envoy: Envoy) -> Iterator[Problem]:
    """Settings that have no effect."""
    publishing, at = envoy.network_publishing, _publishing(spec)
    if publishing is not None and publishing.gateway and envoy.listener and envoy.listener.http3:
        text = "only TCP comes through it, so HTTP/3 does not"
        yield problems.ignored_field(at.at("gateway"), text)
    parameters = _parameters(publishing) if publishing is not None else None
    if publishing is None or parameters is None:
        return
    is_internal, place = (
        (publishing.load_balancer or LoadBalancer()).scope == "Internal",
        _provider(at),
    )
    aws, azure, gcp = parameters.aws, parameters.azure, parameters.gcp
    if aws and aws.allocation_ids and (is_internal or aws.type == "Classic"):
        text = "only an external NLB has them"
        yield problems.ignored_field(place.at("aws").at("allocationIds"), text)
    if azure and azure.resource_group and is_internal:
        text = "only an external load balancer has it"
        yield problems.ignored_field(place.at("azure").at("resourceGroup"), text)
    for name, block in (("azure", azure), ("gcp", gcp)):
        if block and block.subnet and not is_internal:
            text = "only an internal load balancer has it"
            yield problems.ignored_field(place.at(name).at("subnet"), text)


def _publishing(spec: Place) -> Place:
    return spec.at("envoy").at("networkPublishing")


def _provider(publishing: Place) -> Place:
    return publishing.at("loadBalancer").at("providerParameters")


def _parameters(publishing: NetworkPublishing) -> ProviderParameters | None:
    return publishing.load_balancer.provider_parameters if publishing.load_balancer else None


def _types(at: Place, given: NetworkPublishing) -> Iterator[Problem]:
    if given.load_balancer is not None and given.type != "LoadBalancerService":
        text = f"is only for type LoadBalancerService, not {given.type}"
        yield problems.invalid_value(at.at("loadBalancer"), text)
    if given.node_ports and given.type != "NodePortService":
        text = f"is only for type NodePortService, not {given.type}"
        yield problems.invalid_value(at.at("nodePorts"), text)


def _node_ports(at: Place, given: NetworkPublishing) -> Iterator[Problem]:
    names = Counter(it.name for it in given.node_ports)
    numbers = Counter(it.port_number for it in given.node_ports if it.port_number)
    for index, it in enumerate(given.node_ports):
        if names[it.name] > 1:
            text = f"{it.name} is there more than once"
            yield problems.invalid_value(at.item(index).at("name"), text)
        if it.port_number and numbers[it.port_number] > 1:
            text = f"{it.port_number} is there more than once"
            yield problems.invalid_value(at.item(index).at("portNumber"), text)


def _outer(at: Place, type_: str, given: OuterGateway, own_controller: str) -> Iterator[Problem]:
    if type_ != "ClusterIPService":
        yield problems.invalid_value(at, f"is only for type ClusterIPService, not {type_}")
    if (given.gateway_class_name is None) == (given.controller_name is None):
        yield problems.invalid_value(at, "needs either gatewayClassName or controllerName")
    elif given.controller_name is None and given.parameters_ref is not None:
        text = "is only for a class that is made, by controllerName"
        yield problems.invalid_value(at.at("parametersRef"), text)
    if given.controller_name is not None and given.controller_name == own_controller:
        text = "is our own controller, which is behind this Gateway"
        yield problems.invalid_value(at.at("controllerName"), text)


def _blocks(at: Place, given: ProviderParameters) -> Iterator[Problem]:
    blocks = {"AWS": given.aws, "Azure": given.azure, "GCP": given.gcp}
    for provider, block in blocks.items():
        if block is not None and provider != given.type:
            yield problems.invalid_value(at.at(provider.lower()), f"is not for type {given.type}")


def _addresses(at: Place, given: ProviderParameters) -> Iterator[Problem]:
    for name, block in (("azure", given.azure), ("gcp", given.gcp)):
        address = block.address if block is not None else None
        if address is not None and (why := hostnames.address_refusal(address)):
            yield problems.invalid_value(at.at(name).at("address"), f"{address[:60]!r} {why}")
