"""Whether what a ContourConfiguration says of the Service in front of Envoy makes sense.

A contradiction is an error with the path of the field, and nothing is made of it; what a cloud does
not look at in a case is told as having no effect. Sources: Contour's operator API
("NetworkPublishing") and its validation. Elsewhere: what is made of it (`provisioning.exposure`).
"""

import ipaddress
from collections import Counter
from collections.abc import Iterator

from crds.envoysettings import Envoy
from crds.workloads import LoadBalancer, NetworkPublishing, OuterGateway, ProviderParameters
from dag.configuration import readings

_PATH = "spec.envoy.networkPublishing"
_BALANCER = f"{_PATH}.loadBalancer"
_PROVIDER = f"{_BALANCER}.providerParameters"
_GATEWAY = f"{_PATH}.gateway"
OUTER_CLASS = f"{_GATEWAY}.gatewayClassName"


def check(envoy: Envoy, own_controller: str, errors: readings.Errors) -> None:
    """Adds what contradicts itself; our own controller's name is empty if it serves no Gateways."""
    publishing = envoy.network_publishing
    if publishing is None:
        return
    for path, message in (*_types(publishing), *_node_ports(publishing)):
        readings.tell(errors, path, message)
    if publishing.gateway is not None:
        for path, message in _outer(publishing.type, publishing.gateway, own_controller):
            readings.tell(errors, path, message)
    parameters = _parameters(publishing)
    if parameters is not None:
        for path, message in (*_blocks(parameters), *_addresses(parameters)):
            readings.tell(errors, path, message)
    ports = envoy.external_ports
    if ports is not None and ports.http == ports.https:
        path = "spec.envoy.externalPorts.https"
        readings.tell(errors, path, f"{ports.https} is the port of plain HTTP already")


def without_effect(envoy: Envoy) -> Iterator[str]:
    """What is said and changes nothing, with its path."""
    publishing = envoy.network_publishing
    if publishing is not None and publishing.gateway and envoy.listener and envoy.listener.http3:
        yield f"{_GATEWAY}: only TCP comes through it, so HTTP/3 does not"
    parameters = _parameters(publishing) if publishing is not None else None
    if publishing is None or parameters is None:
        return
    is_internal = (publishing.load_balancer or LoadBalancer()).scope == "Internal"
    aws, azure, gcp = parameters.aws, parameters.azure, parameters.gcp
    if aws and aws.allocation_ids and (is_internal or aws.type == "Classic"):
        yield f"{_PROVIDER}.aws.allocationIds: only an external NLB has them"
    if azure and azure.resource_group and is_internal:
        yield f"{_PROVIDER}.azure.resourceGroup: only an external load balancer has it"
    for name, block in (("azure", azure), ("gcp", gcp)):
        if block and block.subnet and not is_internal:
            yield f"{_PROVIDER}.{name}.subnet: only an internal load balancer has it"


def _parameters(publishing: NetworkPublishing) -> ProviderParameters | None:
    return publishing.load_balancer.provider_parameters if publishing.load_balancer else None


def _types(given: NetworkPublishing) -> Iterator[tuple[str, str]]:
    if given.load_balancer is not None and given.type != "LoadBalancerService":
        yield _BALANCER, f"is only for type LoadBalancerService, not {given.type}"
    if given.node_ports and given.type != "NodePortService":
        yield f"{_PATH}.nodePorts", f"is only for type NodePortService, not {given.type}"


def _node_ports(given: NetworkPublishing) -> Iterator[tuple[str, str]]:
    names = Counter(it.name for it in given.node_ports)
    numbers = Counter(it.port_number for it in given.node_ports if it.port_number)
    for index, it in enumerate(given.node_ports):
        if names[it.name] > 1:
            yield f"{_PATH}.nodePorts[{index}].name", f"{it.name} is there more than once"
        if it.port_number and numbers[it.port_number] > 1:
            where = f"{_PATH}.nodePorts[{index}].portNumber"
            yield where, f"{it.port_number} is there more than once"


def _outer(type_: str, given: OuterGateway, own_controller: str) -> Iterator[tuple[str, str]]:
    if type_ != "ClusterIPService":
        yield _GATEWAY, f"is only for type ClusterIPService, not {type_}"
    if (given.gateway_class_name is None) == (given.controller_name is None):
        yield _GATEWAY, "needs either gatewayClassName or controllerName"
    elif given.controller_name is None and given.parameters_ref is not None:
        yield f"{_GATEWAY}.parametersRef", "is only for a class that is made, by controllerName"
    if given.controller_name is not None and given.controller_name == own_controller:
        yield f"{_GATEWAY}.controllerName", "is our own controller, which is behind this Gateway"


def _blocks(given: ProviderParameters) -> Iterator[tuple[str, str]]:
    blocks = {"AWS": given.aws, "Azure": given.azure, "GCP": given.gcp}
    for provider, block in blocks.items():
        if block is not None and provider != given.type:
            yield f"{_PROVIDER}.{provider.lower()}", f"is not for type {given.type}"


def _addresses(given: ProviderParameters) -> Iterator[tuple[str, str]]:
    for name, block in (("azure", given.azure), ("gcp", given.gcp)):
        if block is not None and block.address is not None and not _is_ip(block.address):
            yield f"{_PROVIDER}.{name}.address", f"{block.address[:60]!r} is no IP address"


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
