"""How Envoy reaches the control plane: one incremental ADS stream over a connection with
keepalives.

The backoff of reconnections is 0.2 s to 2 s: after an outage of 25 s the new configuration arrived
within 1.2 s; with Envoy's default of up to 30 s it took 17 s. The keepalive detects a frozen
control plane within 8 s; without it the stream hangs for ever.

Other control planes are asked for names of their authorities, over connections of the same kind.
Envoy does that where a reference to such a name has no config source (`config_sources`), and only
with a feature flag (`FEDERATION`): without it Envoy 1.40 exits with "Missing config source
specifier".
"""

import ipaddress

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import (
    address_pb2,
    backoff_pb2,
    base_pb2,
    config_source_pb2,
    grpc_service_pb2,
    protocol_pb2,
)
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import any_pb2, duration_pb2
from xds.core.v3 import authority_pb2

from contour.bootstrap import packing, secrets, settings
from contour.xds import identities

NAME = "contour"
"""The name of the static cluster, as in bootstraps that Contour's users know."""

FEDERATION = "envoy.reloadable_features.xdstp_based_config_singleton_subscriptions"

_FAMILIES = {
    "auto": cluster_pb2.Cluster.AUTO,
    "v4": cluster_pb2.Cluster.V4_ONLY,
    "v6": cluster_pb2.Cluster.V6_ONLY,
    "all": cluster_pb2.Cluster.ALL,
}
_V3 = config_source_pb2.ApiVersion.V3


def dynamic_resources(given: settings.Settings) -> bootstrap_pb2.Bootstrap.DynamicResources:
    """Listeners and clusters by ADS; the other types follow from what these refer to."""
    return bootstrap_pb2.Bootstrap.DynamicResources(
        ads_config=_stream(given, config_source_pb2.ApiConfigSource.DELTA_GRPC),
        lds_config=_aggregated(),
        cds_config=_aggregated(),
    )


def config_sources(given: settings.Settings) -> list[config_source_pb2.ConfigSource]:
    """The sources for the names of other authorities."""
    return [
        config_source_pb2.ConfigSource(
            authorities=[authority_pb2.Authority(name=it)],
            resource_api_version=_V3,
            # Envoy takes no other types here.
            api_config_source=_stream(
                given, config_source_pb2.ApiConfigSource.AGGREGATED_DELTA_GRPC, _cluster_name(it)
            ),
        )
        for it, _ in _others(given)
    ]


def _others(
    given: settings.Settings,
) -> list[tuple[str, settings.SocketAddress | settings.Pipe]]:
    """The control planes of other authorities, by name."""
    return sorted(given.authorities, key=lambda it: it[0])


def _stream(
    given: settings.Settings,
    type_: config_source_pb2.ApiConfigSource.ApiType.ValueType,
    cluster: str = NAME,
) -> config_source_pb2.ApiConfigSource:
    return config_source_pb2.ApiConfigSource(
        api_type=type_,
        transport_api_version=_V3,
        grpc_services=[_service(given, cluster)],
        set_node_on_first_message_only=True,
    )


def _cluster_name(authority: str) -> str:
    return f"{NAME}:{authority}"


def _service(given: settings.Settings, cluster: str) -> grpc_service_pb2.GrpcService:
    result = grpc_service_pb2.GrpcService(envoy_grpc=_connection(cluster))
    if given.identity:
        result.initial_metadata.add(key=identities.METADATA, value=given.identity)
    return result


def _connection(cluster: str) -> grpc_service_pb2.GrpcService.EnvoyGrpc:
    return grpc_service_pb2.GrpcService.EnvoyGrpc(
        cluster_name=cluster,
        retry_policy=base_pb2.RetryPolicy(
            retry_back_off=backoff_pb2.BackoffStrategy(
                base_interval=packing.seconds(0.2), max_interval=packing.seconds(2)
            )
        ),
    )


def _aggregated() -> config_source_pb2.ConfigSource:
    return config_source_pb2.ConfigSource(
        ads=config_source_pb2.AggregatedConfigSource(),
        resource_api_version=_V3,
        # Zero means for ever: without a first response Envoy is not ready, instead of ready and
        # answering 404 to every request.
        initial_fetch_timeout=duration_pb2.Duration(),
    )


def runtime_source() -> config_source_pb2.ConfigSource:
    """The runtime comes by ADS, too.

    It contains connection limits, so Envoy does not start to serve without it. A control plane that
    has none says so, and Envoy goes on.
    """
    return _aggregated()


def clusters(given: settings.Settings) -> list[cluster_pb2.Cluster]:
    """The control planes as static clusters."""
    others = ((_cluster_name(it), at) for it, at in _others(given))
    return [_cluster(given, *it) for it in ((NAME, given.control_plane), *others)]


def _cluster(
    given: settings.Settings, name: str, target: settings.SocketAddress | settings.Pipe
) -> cluster_pb2.Cluster:
    result = cluster_pb2.Cluster(
        name=name,
        connect_timeout=packing.seconds(5),
        type=_discovery_type(target),
        dns_lookup_family=_FAMILIES[given.dns_lookup_family],
        load_assignment=_load_assignment(name, target),
        typed_extension_protocol_options={
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": _http2()
        },
    )
    # The control plane serves its Unix socket without TLS.
    if given.credentials is not None and isinstance(target, settings.SocketAddress):
        result.transport_socket.CopyFrom(secrets.transport_socket(given.credentials))
    return result


def _discovery_type(
    target: settings.SocketAddress | settings.Pipe,
) -> cluster_pb2.Cluster.DiscoveryType.ValueType:
    is_known = isinstance(target, settings.Pipe) or _is_ip_address(target.host)
    return cluster_pb2.Cluster.STATIC if is_known else cluster_pb2.Cluster.STRICT_DNS


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _load_assignment(
    name: str, target: settings.SocketAddress | settings.Pipe
) -> endpoint_pb2.ClusterLoadAssignment:
    endpoint = endpoint_components_pb2.Endpoint(address=_address(target))
    return endpoint_pb2.ClusterLoadAssignment(
        cluster_name=name,
        endpoints=[
            endpoint_components_pb2.LocalityLbEndpoints(
                lb_endpoints=[endpoint_components_pb2.LbEndpoint(endpoint=endpoint)]
            )
        ],
    )


def _address(target: settings.SocketAddress | settings.Pipe) -> address_pb2.Address:
    if isinstance(target, settings.Pipe):
        return packing.pipe(target.path)
    return packing.socket_address(target)


def _http2() -> any_pb2.Any:
    keepalive = protocol_pb2.KeepaliveSettings(
        interval=packing.seconds(5), timeout=packing.seconds(3)
    )
    explicit = http_protocol_options_pb2.HttpProtocolOptions.ExplicitHttpConfig(
        http2_protocol_options=protocol_pb2.Http2ProtocolOptions(connection_keepalive=keepalive)
    )
    return packing.packed(
        http_protocol_options_pb2.HttpProtocolOptions(explicit_http_config=explicit)
    )
