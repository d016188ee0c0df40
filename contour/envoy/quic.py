"""HTTP/3: the listener on the UDP port of an HTTPS listener, and its filter chains.

A chain has the same tables of hosts, filters and TLS settings as over TCP. Hosts that QUIC cannot
serve as asked are left out: those without TLS 1.3, and those that check client certificates. Early
data is off, since a request in it could be replayed. Elsewhere: which hosts there are
(`http3`), and whether HTTP/3 is enabled (`policy`).
"""

from envoy.config.core.v3 import address_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.extensions.transport_sockets.quic.v3 import quic_transport_pb2

from contour.envoy import answered, chains, connection_manager, encoding, listeners
from contour.envoy.policy import Downstream
from dag import nodes

_MAX_AGE = 86_400  # seconds that clients may remember
_MOST_OF_STREAM, _MOST_OF_CONNECTION = 16 << 20, 24 << 20
"""Bytes: Envoy takes no larger windows."""


def listener_name(listener: str) -> str:
    """The name of the UDP listener beside an HTTPS listener."""
    return f"{listener}_quic"


def advertisement(port: int) -> str:
    """The header of responses over TCP (`alt-svc`), with the port that clients see."""
    return f'h3=":{port}"; ma={_MAX_AGE}'


def head(node: nodes.Listener, answer: bytes | None) -> bytes:
    """The UDP listener without filter chains, as extensions want it if there is an answer."""
    result = listener_pb2.Listener(name=listener_name(node.name), address=listeners.address(node))
    result.address.socket_address.protocol = address_pb2.SocketAddress.UDP
    result.udp_listener_config.quic_options.SetInParent()
    answered.write_head(result, answer)
    return encoding.encoded(result)


def chain(name: str, listener: str, tls: nodes.Tls, policy: Downstream) -> bytes:
    """A Listener with nothing but a chain for hosts with the same TLS settings."""
    policy = policy._replace(traffic=tls.traffic)
    result = listener_pb2.Listener()
    made = result.filter_chains.add(name=name)
    made.transport_socket.name = "envoy.transport_sockets.quic"
    transport = quic_transport_pb2.QuicDownstreamTransport()
    transport.downstream_tls_context.CopyFrom(chains.termination(tls, policy))
    transport.downstream_tls_context.common_tls_context.alpn_protocols[:] = ["h3"]
    transport.enable_early_data.value = False
    made.transport_socket.typed_config.CopyFrom(encoding.packed(transport))
    manager = connection_manager.secure(listener, policy, tls)
    write_protocol(manager)
    answered.write_filters(made, manager, policy)
    return encoding.encoded(result)


def write_protocol(target: hcm_pb2.HttpConnectionManager) -> None:
    """Fills in HTTP/3, with the same limits for a client as over HTTP/2."""
    target.codec_type = hcm_pb2.HttpConnectionManager.HTTP3
    same, quic = target.http2_protocol_options, target.http3_protocol_options.quic_protocol_options
    quic.max_concurrent_streams.value = same.max_concurrent_streams.value
    stream, connection = same.initial_stream_window_size, same.initial_connection_window_size
    quic.initial_stream_window_size.value = min(stream.value, _MOST_OF_STREAM)
    quic.initial_connection_window_size.value = min(connection.value, _MOST_OF_CONNECTION)
