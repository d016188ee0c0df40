"""Endpoints of a Service port, which all its clusters share, and of an extension.

A ClusterLoadAssignment without endpoints is sent, too, because Envoy would wait for a missing one.
"""

from collections.abc import Iterable

from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2

from contour.envoy import encoding, names
from dag import nodes


def encoded(
    port: nodes.ServicePort, found: nodes.Endpoints, health_port: int | None = None
) -> bytes:
    """The endpoints of a Service port; health checks may go to another port of each."""
    result = endpoint_pb2.ClusterLoadAssignment(
        cluster_name=names.endpoints(port, health_port).name
    )
    if found.endpoints:
        write(result.endpoints.add(), found, health_port)
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
    health_port: int | None = None,
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
        if health_port is not None:
            endpoint.health_check_config.port_value = health_port
