"""Envoy clusters for the destinations of requests: Service ports, extensions, servers of JWT keys.

Endpoints come by EDS and are never part of a cluster; external names (ExternalName, JWKS) are
resolved by Envoy. Panic mode is off, as in Contour: without a healthy endpoint a request fails
instead of going to an unhealthy one. Elsewhere: TLS (`upstream_tls`), health and limits
(`resilience`).
"""

from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from contour.envoy import (
    encoding,
    endpoints,
    http1,
    http2,
    injections,
    localities,
    names,
    resilience,
    upstream_connections,
    upstream_tls,
)
from contour.envoy import policy as policies
from contour.xds import resources
from dag import nodes

_HTTP = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_FAMILIES = {
    "auto": pb.Cluster.AUTO,
    "v4": pb.Cluster.V4_ONLY,
    "v6": pb.Cluster.V6_ONLY,
    "all": pb.Cluster.ALL,
}


def resource(node: nodes.AnyCluster, policy: policies.Upstream) -> tuple[resources.Name, bytes]:
    """The cluster's name, which is made from its content, and its encoded message."""
    message = _cluster(node, policy)
    name = names.cluster(node, encoding.encoded(message))
    message.name = name.name
    return name, encoding.encoded(message)


def _cluster(node: nodes.AnyCluster, policy: policies.Upstream) -> pb.Cluster:
    result = pb.Cluster(alt_stat_name=names.statistics(node))
    buffer = policy.every.buffer_limit
    result.per_connection_buffer_limit_bytes.value = policies.BUFFER if buffer is None else buffer
    result.common_lb_config.healthy_panic_threshold.value = 0
    match node:
        case nodes.Cluster():
            _write_service(result, node, policy)
        case nodes.ExtensionCluster():
            _write_extension(result, node, policy)
        case nodes.LocalCluster():
            _write_local(result, node, policy)
    return result


def _write_service(target: pb.Cluster, node: nodes.Cluster, policy: policies.Upstream) -> None:
    if node.dns is None:
        _write_eds(target, names.endpoints_of(node).name)
    else:
        _write_dns(target, node, policy.dns_lookup_family)
    if node.members:
        localities.write_members(target, node)
    _write_connections(target, node, policy)
    upstream_tls.write_tls(target, node.protocol, node.tls, policy.every, offers=_offers(node))
    resilience.write_health(target, node)
    resilience.write_slow_start(target, node)
    resilience.write_table(target, node)
    resilience.write_budget(target, node.retry_budget)
    if node.connections is not None:
        upstream_connections.write(target, node.connections)
    localities.keep_strict(target, node)


def _write_extension(
    target: pb.Cluster, node: nodes.ExtensionCluster, policy: policies.Upstream
) -> None:
    _write_eds(target, names.extension_endpoints(node).name)
    target.common_lb_config.locality_weighted_lb_config.SetInParent()
    _write_connections(target, node, policy)
    upstream_tls.write_tls(target, node.protocol, node.tls, policy.every, offers=_offers(node))


def _write_local(target: pb.Cluster, node: nodes.LocalCluster, policy: policies.Upstream) -> None:
    target.type = pb.Cluster.STATIC
    target.connect_timeout.CopyFrom(encoding.seconds(policy.connect_timeout))
    target.load_assignment.cluster_name = node.path
    endpoint = target.load_assignment.endpoints.add().lb_endpoints.add().endpoint
    endpoint.address.pipe.path = node.path
    options = http_protocol_options_pb2.HttpProtocolOptions()
    options.explicit_http_config.http_protocol_options.enable_trailers = True
    target.typed_extension_protocol_options[_HTTP].CopyFrom(encoding.packed(options))


def _write_eds(target: pb.Cluster, name: str) -> None:
    target.type = pb.Cluster.EDS
    target.eds_cluster_config.eds_config.CopyFrom(encoding.aggregated())
    target.eds_cluster_config.service_name = name


def _write_dns(target: pb.Cluster, node: nodes.Cluster, family: policies.DnsLookupFamily) -> None:
    """Fills in a cluster that Envoy resolves; a name server that does not answer must not delay the
    other clusters."""
    is_logical = family == "all"
    target.type = pb.Cluster.LOGICAL_DNS if is_logical else pb.Cluster.STRICT_DNS
    target.dns_lookup_family = _FAMILIES[family]
    target.wait_for_warm_on_init.value = False
    target.load_assignment.cluster_name = names.endpoints_of(node).name
    found, checked = nodes.Endpoints(node.names), endpoints.health_number(node)
    endpoints.write(target.load_assignment.endpoints.add(), found, checked)


def _write_connections(
    target: pb.Cluster, node: nodes.Cluster | nodes.ExtensionCluster, policy: policies.Upstream
) -> None:
    timeout = policy.connect_timeout if node.connect_timeout is None else node.connect_timeout
    target.connect_timeout.CopyFrom(encoding.seconds(timeout))
    resilience.write_balancing(target, node.balancing)
    resilience.write_limits(target, (node.limits or _UNLIMITED).over(policy.every.limits))
    options = _options(node, policy.every)
    if options is not None:
        target.typed_extension_protocol_options[_HTTP].CopyFrom(encoding.packed(options))


_UNLIMITED = nodes.CircuitBreakers()


def _options(
    node: nodes.Cluster | nodes.ExtensionCluster, every: nodes.Upstreams
) -> http_protocol_options_pb2.HttpProtocolOptions | None:
    """The HTTP version and timeouts; None for HTTP/1.1 with Envoy's defaults."""
    result = http_protocol_options_pb2.HttpProtocolOptions()
    own = _connections(node)
    common = result.common_http_protocol_options
    http2.write_duration(common.idle_timeout, node.idle_timeout)
    http2.write_duration(common.max_connection_duration, own.max_age)
    http2.write_duration(common.max_stream_duration, own.max_stream)
    most = every.max_requests_per_connection if own.max_requests is None else own.max_requests
    if most is not None:
        common.max_requests_per_connection.value = most
    upstream_tls.write_server_name(result.upstream_http_protocol_options, node.tls)
    if isinstance(node, nodes.Cluster) and node.injection is not None:
        injections.write(result, node.injection)
    _write_protocol(result, node, own, every)
    return None if result == _AS_ENVOY_DOES else result


def _connections(node: nodes.Cluster | nodes.ExtensionCluster) -> nodes.Connections:
    own = node.connections if isinstance(node, nodes.Cluster) else None
    return own or _USUAL


_USUAL = nodes.Connections()

_AS_ENVOY_DOES = http_protocol_options_pb2.HttpProtocolOptions()
_AS_ENVOY_DOES.explicit_http_config.http_protocol_options.SetInParent()


def _write_protocol(
    target: http_protocol_options_pb2.HttpProtocolOptions,
    node: nodes.Cluster | nodes.ExtensionCluster,
    own: nodes.Connections,
    every: nodes.Upstreams,
) -> None:
    client, explicit = target.use_downstream_protocol_config, target.explicit_http_config
    if own.follows_client:
        _write_http2(client.http2_protocol_options, own.http2, every)
        _write_http1(client.http_protocol_options, own)
    elif isinstance(node, nodes.Cluster) and node.prefers_http2:
        _write_http2(target.auto_config.http2_protocol_options, own.http2, every)
        if own.keeps_case:
            http1.keep_case(target.auto_config.http_protocol_options)
    elif node.protocol in ("h2", "h2c"):
        _write_http2(explicit.http2_protocol_options, own.http2, every)
    elif isinstance(node, nodes.ExtensionCluster) and node.has_trailers:
        explicit.http_protocol_options.enable_trailers = True
    else:
        _write_http1(explicit.http_protocol_options, own)


def _write_http1(target: protocol_pb2.Http1ProtocolOptions, own: nodes.Connections) -> None:
    target.SetInParent()
    if own.keeps_case:
        http1.keep_case(target)


def _write_http2(
    target: protocol_pb2.Http2ProtocolOptions, own: nodes.Http2 | None, every: nodes.Upstreams
) -> None:
    """Fills in HTTP/2, with the flow control windows if they are set."""
    target.SetInParent()
    if every.stream_window is not None:
        target.initial_stream_window_size.value = every.stream_window
    if every.connection_window is not None:
        target.initial_connection_window_size.value = every.connection_window
    if own is not None:
        http2.write(target, own)


def _offers(node: nodes.Cluster | nodes.ExtensionCluster) -> tuple[str, ...]:
    """The ALPN protocols for a backend; none if the client's protocol is used, which Envoy then
    offers itself."""
    if node.tls is not None and node.tls.offers:
        return node.tls.offers
    own = _connections(node)
    if own.follows_client:
        return ()
    if isinstance(node, nodes.Cluster) and node.prefers_http2:
        return ("h2", "http/1.1")
    return ("h2",) if node.protocol == "h2" else ()
