"""Endpoints of a Service port, which all its clusters share, and of an extension.

A ClusterLoadAssignment without endpoints is sent, too, because Envoy would wait for a missing one.
"""

from collections.abc import Iterable, Mapping

from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2

from contour.envoy import encoding, names
from contour.xds import resources
from dag import nodes

HealthPorts = int | Mapping[str, int] | None
"""The port that health checks go to: of all endpoints, or by their addresses; their own if it is
not said."""


def health_number(node: nodes.Cluster) -> int | None:
    """The port that health checks of names and of several backends go to."""
    return node.health_port if isinstance(node.health_port, int) else None


def encoded(
    name: resources.Name, found: nodes.Endpoints, health_ports: HealthPorts = None
) -> bytes:
    """The endpoints of a Service port; health checks may go to another port of each."""
    result = endpoint_pb2.ClusterLoadAssignment(cluster_name=name.name)
    if found.endpoints:
        write(result.endpoints.add(), found, health_ports)
    return encoding.encoded(result)


def shared(
    node: nodes.ExtensionCluster, found: Iterable[tuple[nodes.WeightedPort, nodes.Endpoints]]
) -> bytes:
    """The endpoints of an extension: each of its Services is a locality with a weight."""
    result = endpoint_pb2.ClusterLoadAssignment(cluster_name=names.extension_endpoints(node).name)
    for share, endpoints in found:
        if endpoints.endpoints and share.weight:
            locality = result.endpoints.add()
            locality.locality.zone = names.endpoints(share.port).name
            locality.load_balancing_weight.value = share.weight
            write(locality, endpoints)
    return encoding.encoded(result)


def write(
    target: endpoint_components_pb2.LocalityLbEndpoints,
    found: nodes.Endpoints,
    health_ports: HealthPorts = None,
) -> None:
    """Adds endpoints to a locality."""
    for it in found.endpoints:
        endpoint = target.lb_endpoints.add().endpoint
        endpoint.hostname = it.hostname
        if it.port:
            endpoint.address.socket_address.address = it.address
            endpoint.address.socket_address.port_value = it.port
        else:
            endpoint.address.pipe.path = it.address
        checked = health_ports
        if isinstance(checked, Mapping):
            checked = checked.get(it.address)
        if checked is not None:
            endpoint.health_check_config.port_value = checked
