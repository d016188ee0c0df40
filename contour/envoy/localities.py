"""Clusters of several backends: each is a locality, with its weight and its priority.

The localities of a priority share the requests by their weights. The second priority gets requests
while too few endpoints of the first are healthy: Envoy counts each healthy one 1.4 times, so from
less than 72 % of them. A locality without a weight gets only requests of sessions that are with its
endpoints: these are draining, which only a session may choose. Envoy's proxy for UDP has one
cluster for a listener, so there a locality takes what is to be dropped.
"""

from collections.abc import Iterable

from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.core.v3 import health_check_pb2
from envoy.config.endpoint.v3 import endpoint_pb2

from contour.envoy import encoding, endpoints, names
from contour.envoy.forwarding import NOWHERE
from dag import nodes


def write_members(target: pb.Cluster, node: nodes.Cluster) -> None:
    """Fills in a cluster whose members share requests by weight, including members that are found
    by DNS."""
    target.common_lb_config.locality_weighted_lb_config.SetInParent()
    if any(it.weight == 0 for it in node.members):
        target.common_lb_config.override_host_status.statuses.extend(_OF_SESSIONS)
    if node.dns is None:
        return
    assignment = endpoint_pb2.ClusterLoadAssignment(cluster_name=names.endpoints_of(node).name)
    for it in node.members:
        _write(assignment, it, nodes.Endpoints(it.names), endpoints.health_number(node))
    target.load_assignment.CopyFrom(assignment)


_OF_SESSIONS = (
    health_check_pb2.UNKNOWN,
    health_check_pb2.HEALTHY,
    health_check_pb2.DEGRADED,
    health_check_pb2.DRAINING,
)
"""The health states of an endpoint in which sessions stay with it; Envoy's default has all but the
last."""


def keep_strict(target: pb.Cluster, node: nodes.Cluster) -> None:
    """Sets the type STRICT_DNS if there are several members, because LOGICAL_DNS allows only one
    name."""
    if node.members and target.type == pb.Cluster.LOGICAL_DNS:
        target.type = pb.Cluster.STRICT_DNS


def encoded(node: nodes.Cluster, found: Iterable[tuple[nodes.Member, nodes.Endpoints]]) -> bytes:
    """The endpoints of the members of a cluster, each in its locality."""
    result = endpoint_pb2.ClusterLoadAssignment(cluster_name=names.endpoints_of(node).name)
    dropped = node.dropped or 0
    for member, at in found:
        _write(result, member, at, endpoints.health_number(node))
        if not at.endpoints:
            dropped += member.weight
    if node.dropped is not None and dropped:
        _write_dropped(result, dropped)
    return encoding.encoded(result)


def _write_dropped(target: endpoint_pb2.ClusterLoadAssignment, weight: int) -> None:
    """Where datagrams are lost: nobody can have port 0. It is not checked, as it would be sick, and
    then the others would get its share."""
    locality = target.endpoints.add()
    locality.locality.zone = NOWHERE
    locality.load_balancing_weight.value = weight
    endpoint = locality.lb_endpoints.add().endpoint
    endpoint.address.socket_address.address = "127.0.0.1"
    endpoint.address.socket_address.port_value = 0
    endpoint.health_check_config.disable_active_health_check = True


def _write(
    target: endpoint_pb2.ClusterLoadAssignment,
    member: nodes.Member,
    found: nodes.Endpoints,
    health_port: int | None,
) -> None:
    if not found.endpoints:
        return
    locality = target.endpoints.add(priority=1 if member.is_fallback else 0)
    locality.locality.zone = names.endpoints(member.port).name
    endpoints.write(locality, found, health_port)
    if member.weight:
        locality.load_balancing_weight.value = member.weight
        return
    for it in locality.lb_endpoints:
        it.health_status = health_check_pb2.DRAINING
