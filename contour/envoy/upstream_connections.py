"""Settings of a policy for connections to a backend."""

from collections.abc import Mapping

from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.core.v3 import base_pb2, proxy_protocol_pb2
from envoy.extensions.transport_sockets.proxy_protocol.v3 import upstream_proxy_protocol_pb2
from envoy.extensions.transport_sockets.raw_buffer.v3 import raw_buffer_pb2

from contour.envoy import encoding, http2, socket_options
from dag import nodes

_FAMILIES: Mapping[nodes.LookupFamily, pb.Cluster.DnsLookupFamily.ValueType] = {
    "IPv4": pb.Cluster.V4_ONLY,
    "IPv6": pb.Cluster.V6_ONLY,
    "IPv4Preferred": pb.Cluster.V4_PREFERRED,
    "IPv6Preferred": pb.Cluster.AUTO,  # the name in Envoy
    "IPv4AndIPv6": pb.Cluster.ALL,
}
_VERSIONS = {"V1": proxy_protocol_pb2.ProxyProtocolConfig.V1}
"""The other version is Envoy's default."""


def write(target: pb.Cluster, node: nodes.Connections) -> None:
    """Fills in all but the HTTP options; TLS, if any, has been written before."""
    if node.buffer_limit is not None:
        target.per_connection_buffer_limit_bytes.value = node.buffer_limit
    if node.kernel_buffer is not None:
        wanted = map(socket_options.message, socket_options.of_buffers(node.kernel_buffer))
        target.upstream_bind_config.socket_options.extend(wanted)
    if node.keepalive is not None:
        probes = target.upstream_connection_options.tcp_keepalive
        probes.keepalive_probes.value = node.keepalive.probes
        probes.keepalive_time.value = node.keepalive.idle
        probes.keepalive_interval.value = node.keepalive.interval
    if node.preconnect is not None:
        _write_preconnect(target.preconnect_policy, node.preconnect)
    if node.dns is not None:
        _write_dns(target, node.dns)
    if node.proxy_protocol is not None:
        _write_proxy_protocol(target.transport_socket, node.proxy_protocol)


def _write_preconnect(target: pb.Cluster.PreconnectPolicy, node: nodes.Preconnect) -> None:
    if node.per_endpoint is not None:
        target.per_upstream_preconnect_ratio.value = node.per_endpoint
    if node.predictive is not None:
        target.predictive_preconnect_ratio.value = node.predictive


def _write_dns(target: pb.Cluster, node: nodes.DnsSettings) -> None:
    """A name whose addresses are all used at once is of the type LOGICAL_DNS, as elsewhere.

    The first two fields are deprecated since Envoy 1.35; what replaces them is unknown to older
    Envoys, which would refuse the cluster.
    """
    http2.write_duration(target.dns_refresh_rate, node.refresh)  # pyright: ignore[reportDeprecated]
    target.respect_dns_ttl = node.by_ttl  # pyright: ignore[reportDeprecated]
    if node.family is not None:
        target.dns_lookup_family = _FAMILIES[node.family]
        is_logical = node.family == "IPv4AndIPv6"
        target.type = pb.Cluster.LOGICAL_DNS if is_logical else pb.Cluster.STRICT_DNS


def _write_proxy_protocol(target: base_pb2.TransportSocket, version: str) -> None:
    """The PROXY header is sent before everything else, TLS included."""
    made = upstream_proxy_protocol_pb2.ProxyProtocolUpstreamTransport()
    made.config.version = _VERSIONS.get(version, proxy_protocol_pb2.ProxyProtocolConfig.V2)
    if target.name:
        made.transport_socket.CopyFrom(target)
    else:
        made.transport_socket.name = "envoy.transport_sockets.raw_buffer"
        raw = encoding.packed(raw_buffer_pb2.RawBuffer())
        made.transport_socket.typed_config.CopyFrom(raw)
    target.name = "envoy.transport_sockets.upstream_proxy_protocol"
    target.typed_config.CopyFrom(encoding.packed(made))
