"""The Service in front of Envoys by an EnvoyProxy, in either of its two spellings."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping

from crds.envoygateway.envoyproxy import EnvoyProxySpec, EnvoyService
from crds.fleetdetails import Service
from crds.workloads import NetworkPublishing
from dag.configuration import publishing
from dag.envoyproxy import labels
from dag.envoyproxy.asked import Publishing, ServiceType
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Findings, Place

_TYPES: Mapping[str, ServiceType] = {
    "LoadBalancer": "LoadBalancerService",
    "NodePort": "NodePortService",
    "ClusterIP": "ClusterIPService",
}


def published(
    spec: Place, given: EnvoyProxySpec, service: EnvoyService | None
) -> Findings[Publishing]:
    """How an EnvoyProxy publishes its fleet."""
    at = spec.at("provider").at("kubernetes").at("envoyService")
    if given.network_publishing is not None:
        if service is not None:
            text = "cannot be set together with provider.kubernetes.envoyService"
            yield problems.invalid_value(spec.at("networkPublishing"), text)
        yield from _network_publishing(spec.at("networkPublishing"), given.network_publishing)
        return _as_in_a_configuration(given.network_publishing)
    if service is None:
        return Publishing()
    yield from _errors(at, service)
    return Publishing(
        type=_TYPES[service.type] if service.type is not None else None,
        external_traffic_policy=service.external_traffic_policy,
        annotations=service.annotations,
        details=_details(service),
    )


def _as_in_a_configuration(given: NetworkPublishing) -> Publishing:
    return Publishing(
        type=given.type,
        external_traffic_policy=given.external_traffic_policy,
        ip_family_policy=given.ip_family_policy,
        annotations=given.service_annotations,
        load_balancer=given.load_balancer,
        node_ports=given.node_ports,
    )


def _network_publishing(at: Place, given: NetworkPublishing) -> Iterator[Problem]:
    if given.gateway is not None:
        text = "is only for the Envoys of a ContourConfiguration"
        yield problems.invalid_value(at.at("gateway"), text)
    for it in publishing.of_service(at, given):
        yield problems.of_configuration(it)


def _errors(at: Place, given: EnvoyService) -> Iterator[Problem]:
    yield from labels.refused(at.at("labels"), given.labels)
    of_balancers = {
        "loadBalancerClass": bool(given.load_balancer_class),
        "loadBalancerIP": bool(given.load_balancer_ip),
        "loadBalancerSourceRanges": bool(given.load_balancer_source_ranges),
        "allocateLoadBalancerNodePorts": given.allocate_load_balancer_node_ports is not None,
    }
    for name, is_set in of_balancers.items():
        if is_set and given.type not in ("LoadBalancer", None):
            yield problems.invalid_value(
                at.at(name), f"is only for type LoadBalancer, not {given.type}"
            )
    if given.load_balancer_ip and not _is(ipaddress.ip_address, given.load_balancer_ip):
        text = f"{given.load_balancer_ip[:60]!r} is no IP address"
        yield problems.invalid_value(at.at("loadBalancerIP"), text)
    for index, it in enumerate(given.load_balancer_source_ranges):
        if not (_RANGE.fullmatch(it) and _is(ipaddress.ip_network, it)):
            text = f"{it[:60]!r} is no range of addresses, such as 192.0.2.0/24"
            yield problems.invalid_value(at.at("loadBalancerSourceRanges", index), text)


_RANGE = re.compile(r"[0-9a-fA-F.:]+/[0-9]+")
"""The API server takes only an address and the length of a prefix, as in 192.0.2.0/24."""


def _is(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


def _details(given: EnvoyService) -> Service:
    return Service(
        labels=given.labels,
        load_balancer_class=given.load_balancer_class,
        load_balancer_ip=given.load_balancer_ip,
        load_balancer_source_ranges=given.load_balancer_source_ranges,
        allocate_load_balancer_node_ports=given.allocate_load_balancer_node_ports,
    )
