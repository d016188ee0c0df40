"""A Service port with its policies, as an Envoy cluster.

Endpoints come by EDS and are never part of it; a Service of type ExternalName is resolved by Envoy.
Panic mode is off, as in Contour: with no healthy endpoint a request fails instead of going to a
sick one.
"""

from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from contour.envoy import encoding, names
from contour.envoy import policy as policies
from contour.xds import resources
from dag import nodes

BUFFER = 32 * 1024
"""Bytes buffered per connection before the sender is slowed (Envoy's guide for edge proxies)."""

_HTTP = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_BALANCING = {
    "RoundRobin": pb.Cluster.ROUND_ROBIN,
    "Random": pb.Cluster.RANDOM,
    "WeightedLeastRequest": pb.Cluster.LEAST_REQUEST,
}
_FAMILIES = {
    "auto": pb.Cluster.AUTO,
    "v4": pb.Cluster.V4_ONLY,
    "v6": pb.Cluster.V6_ONLY,
    "all": pb.Cluster.ALL,
}


def resource(node: nodes.Cluster, policy: policies.Upstream) -> tuple[resources.Name, bytes]:
    """The cluster's name, which is made from its content, and its encoded message."""
    message = _cluster(node, policy)
    name = names.cluster(node.port, encoding.encoded(message))
    message.name = name.name
    return name, encoding.encoded(message)


def _cluster(node: nodes.Cluster, policy: policies.Upstream) -> pb.Cluster:
    result = pb.Cluster(
        alt_stat_name=names.statistics(node.port),
        connect_timeout=encoding.seconds(policy.connect_timeout),
        lb_policy=_BALANCING[node.balancing],
    )
    result.per_connection_buffer_limit_bytes.value = BUFFER
    result.common_lb_config.healthy_panic_threshold.value = 0
    source = names.endpoints(node.port)
    if node.dns is None:
        result.type = pb.Cluster.EDS
        result.eds_cluster_config.eds_config.CopyFrom(encoding.aggregated())
        result.eds_cluster_config.service_name = source.name
    else:
        _write_dns(result, source.name, node.dns, policy)
    if node.protocol == "h2c":
        result.typed_extension_protocol_options[_HTTP].Pack(_http2())
    return result


def _write_dns(
    target: pb.Cluster, name: str, address: nodes.DnsAddress, policy: policies.Upstream
) -> None:
    """Resolved by Envoy; a silent name server must not hold up the other clusters."""
    is_logical = policy.dns_lookup_family == "all"
    target.type = pb.Cluster.LOGICAL_DNS if is_logical else pb.Cluster.STRICT_DNS
    target.dns_lookup_family = _FAMILIES[policy.dns_lookup_family]
    target.wait_for_warm_on_init.value = False
    target.load_assignment.cluster_name = name
    endpoint = target.load_assignment.endpoints.add().lb_endpoints.add().endpoint
    endpoint.address.socket_address.address = address.host
    endpoint.address.socket_address.port_value = address.port


def _http2() -> http_protocol_options_pb2.HttpProtocolOptions:
    return http_protocol_options_pb2.HttpProtocolOptions(
        explicit_http_config=http_protocol_options_pb2.HttpProtocolOptions.ExplicitHttpConfig(
            http2_protocol_options=protocol_pb2.Http2ProtocolOptions()
        )
    )
