"""A listener for probes and scrapes: some pages of Envoy's administration interface, read only.

The interface can stop Envoy, so it stays on a Unix socket, which is a static cluster of each
bootstrap, and only GET requests to the named paths are forwarded to it. The bootstrap may have such
a listener, which works without a control plane; the configuration may add more of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from envoy.config.core.v3 import address_pb2, protocol_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from google.protobuf import duration_pb2

CLUSTER = "envoy-admin"
"""The administration interface, called as in bootstraps that Contour's users know."""

NAME = "monitoring"
"""Of the listener that a bootstrap opens; Envoy counts requests to all of them under it."""


@dataclass(frozen=True, slots=True)
class MonitorListener:
    """One such listener."""

    name: str
    address: str
    port: int
    paths: tuple[str, ...]
    is_shed: bool = False
    """Whether its requests are refused like all others when Envoy is overloaded."""


def listener(site: MonitorListener) -> listener_pb2.Listener:
    """The listener. It answers even at the limit on connections, unless `is_shed`: a busy Envoy is
    not dead."""
    result = listener_pb2.Listener(name=site.name, stat_prefix=NAME)
    result.address.CopyFrom(_address(site))
    result.ignore_global_conn_limit = not site.is_shed
    result.bypass_overload_manager = not site.is_shed
    added = result.filter_chains.add().filters.add(
        name="envoy.filters.network.http_connection_manager"
    )
    added.typed_config.Pack(_http(site.paths), deterministic=True)
    return result


def _address(site: MonitorListener) -> address_pb2.Address:
    socket = address_pb2.SocketAddress(
        address=site.address, port_value=site.port, ipv4_compat=site.address == "::"
    )
    return address_pb2.Address(socket_address=socket)


def _http(paths: Iterable[str]) -> hcm_pb2.HttpConnectionManager:
    result = hcm_pb2.HttpConnectionManager(
        stat_prefix=NAME,
        route_config=_routes(paths),
        request_headers_timeout=duration_pb2.Duration(seconds=10),
        common_http_protocol_options=protocol_pb2.HttpProtocolOptions(
            idle_timeout=duration_pb2.Duration(seconds=60),
            headers_with_underscores_action=protocol_pb2.HttpProtocolOptions.REJECT_REQUEST,
        ),
    )
    result.normalize_path.value = True
    result.use_remote_address.value = True
    router = result.http_filters.add(name="envoy.filters.http.router")
    router.typed_config.Pack(router_pb2.Router())
    return result


def _routes(paths: Iterable[str]) -> route_pb2.RouteConfiguration:
    result = route_pb2.RouteConfiguration(name=NAME)
    # A foreign bootstrap may lack the cluster: then these paths answer 503, without other harm.
    result.validate_clusters.value = False
    host = result.virtual_hosts.add(name=NAME, domains=["*"])
    host.routes.extend(_route(path) for path in paths)
    return result


def _route(path: str) -> route_components_pb2.Route:
    result = route_components_pb2.Route(
        match=route_components_pb2.RouteMatch(path=path),
        route=route_components_pb2.RouteAction(cluster=CLUSTER),
    )
    result.match.headers.add(name=":method").string_match.exact = "GET"
    return result
