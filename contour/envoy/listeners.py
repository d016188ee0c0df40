"""A listener without the hosts that share it: its socket, and for plain HTTP its only filter chain.

An HTTPS listener is this head, a piece per filter chain (`chains`) and a piece per server name
(`server_names`). Nothing in the head depends on a host: a new head drains every connection.
"""

from envoy.config.core.v3 import address_pb2, socket_option_pb2
from envoy.config.listener.v3 import listener_pb2 as pb
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2

from contour.envoy import connection_manager, encoding
from contour.envoy.policy import Downstream
from dag import nodes

BUFFER = 32 * 1024
"""Bytes buffered per connection before the sender is slowed (Envoy's guide for edge proxies)."""

CONNECTION_MANAGER = "envoy.filters.network.http_connection_manager"

# Level, option, value (Linux): dead clients are noticed after 45 s and nine probes 5 s apart.
_KEEPALIVE = ((1, 9, 1), (6, 4, 45), (6, 5, 5), (6, 6, 9))


def head(node: nodes.Listener, policy: Downstream) -> bytes:
    """The listener, complete for plain HTTP, without filter chains for HTTPS."""
    result = pb.Listener(name=node.name, address=_address(node))
    result.per_connection_buffer_limit_bytes.value = BUFFER
    if node.is_exclusive:
        result.enable_reuse_port.value = False
    for level, option, value in _KEEPALIVE:
        result.socket_options.add(
            level=level,
            name=option,
            int_value=value,
            state=socket_option_pb2.SocketOption.STATE_PREBIND,
        )
    if node.protocol == "HTTPS":
        inspector = result.listener_filters.add(name="envoy.filters.listener.tls_inspector")
        inspector.typed_config.Pack(tls_inspector_pb2.TlsInspector())
    else:
        chain = result.filter_chains.add(name=node.name)
        manager = chain.filters.add(name=CONNECTION_MANAGER)
        manager.typed_config.CopyFrom(encoding.packed(connection_manager.plain(node.name, policy)))
    return encoding.encoded(result)


def _address(node: nodes.Listener) -> address_pb2.Address:
    result = address_pb2.Address()
    result.socket_address.address = node.address
    result.socket_address.port_value = node.bind_port
    result.socket_address.ipv4_compat = node.address == "::"
    return result
