"""The endpoints of a Service port, as the ClusterLoadAssignment that all its clusters share."""

from envoy.config.endpoint.v3 import endpoint_pb2

from contour.envoy import encoding, names
from dag import nodes


def encoded(port: nodes.ServicePort, found: nodes.Endpoints) -> bytes:
    """An assignment without endpoints is an answer too: Envoy must not wait for one."""
    result = endpoint_pb2.ClusterLoadAssignment(cluster_name=names.endpoints(port).name)
    if found.endpoints:
        locality = result.endpoints.add()
        for endpoint in found.endpoints:
            socket = locality.lb_endpoints.add().endpoint.address.socket_address
            socket.address = endpoint.address
            socket.port_value = endpoint.port
    return encoding.encoded(result)
