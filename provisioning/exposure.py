"""How the Service in front of a fleet is exposed: its type, and annotations for clouds.

The annotations are those of the clouds' own controllers for Services (AWS, Azure, GKE: "Service
annotations"). Contradictions are refused before (`dag.configuration.publishing`); settings that a
cloud ignores are left out here.
"""

from collections.abc import Iterator, Mapping

from crds.raw import Raw
from crds.workloads import (
    AWSParameters,
    AzureParameters,
    GCPParameters,
    LoadBalancer,
    NetworkPublishing,
)
from provisioning.installation import Fleet

_AWS = "service.beta.kubernetes.io/aws-load-balancer"
_AZURE = "service.beta.kubernetes.io/azure-load-balancer"


def service_type(given: NetworkPublishing) -> str:
    """The type of the Service, by its name in Kubernetes."""
    return given.type.removesuffix("Service")


def annotations(given: Fleet) -> dict[str, str]:
    """The annotations of the Service; those that users write themselves win."""
    balancer = _load_balancer(given.publishing)
    told = dict(_told(balancer, given)) if balancer is not None else {}
    return {**told, **given.publishing.service_annotations}


def address(given: Fleet) -> str:
    """The address that the load balancer is to have; empty if any will do."""
    balancer = _load_balancer(given.publishing)
    if balancer is None:
        return ""
    parameters = balancer.provider_parameters
    blocks = (parameters.azure, parameters.gcp) if parameters else ()
    asked = (it.address for it in blocks if it is not None and it.address)
    return given.address or given.details.service.load_balancer_ip or next(asked, "")


def of_balancers(given: Fleet) -> Raw:
    """The fields that only a Service of type LoadBalancer has, as far as they are set."""
    said, found = given.details.service, Raw()
    if _load_balancer(given.publishing) is None:
        return found
    if said.load_balancer_class:
        found["loadBalancerClass"] = said.load_balancer_class
    if said.load_balancer_source_ranges:
        found["loadBalancerSourceRanges"] = [*said.load_balancer_source_ranges]
    if said.allocate_load_balancer_node_ports is not None:
        found["allocateLoadBalancerNodePorts"] = said.allocate_load_balancer_node_ports
    return found


def node_ports(given: Fleet) -> Mapping[str, int]:
    """The node ports by the name of the Service port; 0 if any will do."""
    wanted: dict[str, int] = {it.name: it.port_number or 0 for it in given.publishing.node_ports}
    is_exposed = given.publishing.type == "NodePortService"
    return {it.name: wanted.get(it.name, 0) if is_exposed else 0 for it in given.ports}


def _load_balancer(given: NetworkPublishing) -> LoadBalancer | None:
    return (given.load_balancer or LoadBalancer()) if given.type == "LoadBalancerService" else None


def _told(balancer: LoadBalancer, given: Fleet) -> Iterator[tuple[str, str]]:
    parameters, is_internal = balancer.provider_parameters, balancer.scope == "Internal"
    if parameters is None:
        return
    match parameters.type:
        case "AWS":
            aws = parameters.aws or AWSParameters()
            yield from _aws(aws, is_internal, given.speaks_proxy_protocol)
        case "Azure":
            yield from _azure(parameters.azure or AzureParameters(), is_internal)
        case "GCP":
            yield from _gcp(parameters.gcp or GCPParameters(), is_internal)


def _aws(
    given: AWSParameters, is_internal: bool, speaks_proxy_protocol: bool
) -> Iterator[tuple[str, str]]:
    if given.type == "NLB":
        yield f"{_AWS}-type", "nlb"
        if given.allocation_ids and not is_internal:
            yield f"{_AWS}-eip-allocations", ",".join(given.allocation_ids)
    else:
        yield f"{_AWS}-backend-protocol", "tcp"
    if speaks_proxy_protocol:
        yield f"{_AWS}-proxy-protocol", "*"
    if is_internal:
        yield f"{_AWS}-internal", "true"


def _azure(given: AzureParameters, is_internal: bool) -> Iterator[tuple[str, str]]:
    if not is_internal:
        if given.resource_group:
            yield f"{_AZURE}-resource-group", given.resource_group
        return
    yield f"{_AZURE}-internal", "true"
    if given.subnet:
        yield f"{_AZURE}-internal-subnet", given.subnet


def _gcp(given: GCPParameters, is_internal: bool) -> Iterator[tuple[str, str]]:
    if not is_internal:
        return
    # Clusters before 1.17 read the older name.
    yield "networking.gke.io/load-balancer-type", "Internal"
    yield "cloud.google.com/load-balancer-type", "Internal"
    if given.subnet:
        yield "networking.gke.io/internal-load-balancer-subnet", given.subnet
