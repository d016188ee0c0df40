"""The listener for probes and scrapes: two paths of the administration interface, read only.

The administration interface itself can stop Envoy and print private keys, so it stays on a Unix
socket and exactly `GET /ready` and `GET /stats/prometheus` are let through.
"""

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import protocol_pb2
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.type.matcher.v3 import string_pb2
from google.protobuf import wrappers_pb2

from contour.bootstrap import packing, settings

_ADMIN = "admin"
_PATHS = ("/ready", "/stats/prometheus")


def cluster(given: settings.Settings) -> cluster_pb2.Cluster:
    """The administration interface, as the listener reaches it."""
    endpoint = endpoint_components_pb2.Endpoint(address=packing.pipe(given.admin))
    return cluster_pb2.Cluster(
        name=_ADMIN,
        connect_timeout=packing.seconds(1),
        type=cluster_pb2.Cluster.STATIC,
        load_assignment=endpoint_pb2.ClusterLoadAssignment(
            cluster_name=_ADMIN,
            endpoints=[
                endpoint_components_pb2.LocalityLbEndpoints(
                    lb_endpoints=[endpoint_components_pb2.LbEndpoint(endpoint=endpoint)]
                )
            ],
        ),
    )


def listener(address: settings.SocketAddress) -> listener_pb2.Listener:
    """Answers probes even at the limit on connections: a busy Envoy is not a dead one."""
    return listener_pb2.Listener(
        name="monitoring",
        address=packing.socket_address(address),
        ignore_global_conn_limit=True,
        bypass_overload_manager=True,
        filter_chains=[
            listener_components_pb2.FilterChain(
                filters=[
                    listener_components_pb2.Filter(
                        name="envoy.filters.network.http_connection_manager",
                        typed_config=packing.packed(_http()),
                    )
                ]
            )
        ],
    )


def _http() -> hcm_pb2.HttpConnectionManager:
    return hcm_pb2.HttpConnectionManager(
        stat_prefix="monitoring",
        route_config=route_pb2.RouteConfiguration(
            name="monitoring",
            virtual_hosts=[
                route_components_pb2.VirtualHost(
                    name="monitoring", domains=["*"], routes=[_route(path) for path in _PATHS]
                )
            ],
        ),
        http_filters=[
            hcm_pb2.HttpFilter(
                name="envoy.filters.http.router",
                typed_config=packing.packed(router_pb2.Router()),
            )
        ],
        normalize_path=wrappers_pb2.BoolValue(value=True),
        use_remote_address=wrappers_pb2.BoolValue(value=True),
        request_headers_timeout=packing.seconds(10),
        common_http_protocol_options=protocol_pb2.HttpProtocolOptions(
            idle_timeout=packing.seconds(60),
            headers_with_underscores_action=protocol_pb2.HttpProtocolOptions.REJECT_REQUEST,
        ),
    )


def _route(path: str) -> route_components_pb2.Route:
    only_get = route_components_pb2.HeaderMatcher(
        name=":method", string_match=string_pb2.StringMatcher(exact="GET")
    )
    return route_components_pb2.Route(
        match=route_components_pb2.RouteMatch(path=path, headers=[only_get]),
        route=route_components_pb2.RouteAction(cluster=_ADMIN),
    )
