"""A listener without the hosts that share it: its socket, and unless it is HTTPS its only chain.

An HTTPS listener is this head, a piece per filter chain (`chains`) and a piece per server name
(`server_names`). Nothing in the head depends on a host: a new head drains every connection.
"""

from envoy.config.core.v3 import address_pb2, socket_option_pb2
from envoy.config.listener.v3 import listener_pb2 as pb
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from google.protobuf.message import Message

from contour.envoy import connection_manager, encoding, streams
from contour.envoy.forwarding import ClusterNames
from contour.envoy.policy import Downstream
from dag import nodes

BUFFER = 32 * 1024
"""Bytes buffered per connection before the sender is slowed (Envoy's guide for edge proxies)."""

CONNECTION_MANAGER = "envoy.filters.network.http_connection_manager"

# Level, option, value (Linux): dead clients are noticed after 45 s and nine probes 5 s apart.
_KEEPALIVE = ((1, 9, 1), (6, 4, 45), (6, 5, 5), (6, 6, 9))


def head(node: nodes.Listener, policy: Downstream, names: ClusterNames) -> bytes:
    """The listener, complete but for HTTPS, where filter chains are to be added."""
    result = pb.Listener(name=node.name, address=_address(node))
    result.per_connection_buffer_limit_bytes.value = BUFFER
    if node.protocol == "UDP":
        result.address.socket_address.protocol = address_pb2.SocketAddress.UDP
        streams.write_udp(result, node.name, node.stream or _NOTHING, names)
        return encoding.encoded(result)
    if node.is_exclusive:
        result.enable_reuse_port.value = False
    _write_keepalive(result)
    match node.protocol:
        case "HTTPS":
            inspector = result.listener_filters.add(name="envoy.filters.listener.tls_inspector")
            inspector.typed_config.Pack(tls_inspector_pb2.TlsInspector())
        case "TCP":
            proxy = streams.tcp(node.name, node.stream or _NOTHING, names)
            _write_chain(result, streams.TCP, proxy)
        case "HTTP":
            manager = connection_manager.plain(node.name, policy)
            _write_chain(result, CONNECTION_MANAGER, manager)
    return encoding.encoded(result)


_NOTHING = nodes.Stream(())


def _write_chain(target: pb.Listener, name: str, content: Message) -> None:
    added = target.filter_chains.add(name=target.name).filters.add(name=name)
    added.typed_config.CopyFrom(encoding.packed(content))


def _write_keepalive(target: pb.Listener) -> None:
    for level, option, value in _KEEPALIVE:
        target.socket_options.add(
            level=level,
            name=option,
            int_value=value,
            state=socket_option_pb2.SocketOption.STATE_PREBIND,
        )


def _address(node: nodes.Listener) -> address_pb2.Address:
    result = address_pb2.Address()
    result.socket_address.address = node.address
    result.socket_address.port_value = node.bind_port
    result.socket_address.ipv4_compat = node.address == "::"
    return result
