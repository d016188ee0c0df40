"""The configuration of gRPC servers by xDS: a listener for the address on which they listen.

Sources: gRFC A36 (a server asks for a listener by its own address, which the listener repeats; its
routes must not forward), A29 and A41 (`security`).
"""

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.envoy import encoding
from contour.envoy.grpcclients import security
from dag.exports import Export

ANYWHERE = ("0.0.0.0", "::")
"""Addresses on which a server of a pod listens."""
LOOPBACK = ("127.0.0.1", "::1")
"""Addresses on which a server that runs on this machine also listens."""


def listener(name: str, address: str, port: int, export: Export) -> bytes:
    """The listener of a server of an exported Service, for clients that may call it."""
    made = listener_pb2.Listener(name=name)
    made.address.socket_address.address = address
    made.address.socket_address.port_value = port
    chain = made.default_filter_chain
    if export.has_tls:
        security.write_server(chain.transport_socket)
    manager = chain.filters.add(name="envoy.filters.network.http_connection_manager")
    manager.typed_config.CopyFrom(encoding.packed(_manager(export)))
    return encoding.encoded(made)


def _manager(export: Export) -> hcm_pb2.HttpConnectionManager:
    made = hcm_pb2.HttpConnectionManager()
    host = made.route_config.virtual_hosts.add(name="calls", domains=["*"])
    route = host.routes.add()
    route.match.prefix = "/"
    route.non_forwarding_action.SetInParent()
    if export.has_tls:
        filter_ = made.http_filters.add(name="envoy.filters.http.rbac")
        filter_.typed_config.CopyFrom(encoding.packed(security.callers(export.audience)))
    made.http_filters.add(name="envoy.filters.http.router").typed_config.CopyFrom(
        encoding.packed(router_pb2.Router())
    )
    return made
