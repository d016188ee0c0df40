"""A listener without its hosts: its socket and, unless it is HTTPS, its only filter chain.

An HTTPS listener consists of this head, a part for each filter chain (`chains`) and one for each
server name (`server_names`). Nothing in the head depends on a host, because a new head drains every
connection.
"""

from collections.abc import Iterator

from envoy.config.core.v3 import address_pb2, socket_option_pb2
from envoy.config.listener.v3 import listener_pb2 as pb
from envoy.extensions.filters.listener.proxy_protocol.v3 import proxy_protocol_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2

from contour.envoy import answered, clienttraffic, connection_manager, encoding, logs, streams
from contour.envoy.forwarding import ClusterNames
from contour.envoy.policy import BUFFER, Downstream
from dag import nodes

# Level, option, value (Linux): dead clients are detected after 45 s and nine probes at 5 s
# intervals.
_KEEPALIVE = ((1, 9, 1), (6, 4, 45), (6, 5, 5), (6, 6, 9))
_TOS = (0, 1)
_TRAFFIC_CLASS = (41, 67)


def head(node: nodes.Listener, policy: Downstream, names: ClusterNames) -> bytes:
    """The listener, complete but for HTTPS, where filter chains are to be added."""
    result = pb.Listener(name=node.name, address=address(node))
    _write_limits(result, policy.edge)
    if node.protocol == "UDP":
        result.address.socket_address.protocol = address_pb2.SocketAddress.UDP
        streams.write_udp(result, node.name, node.stream or _NOTHING, names)
        return encoding.encoded(result)
    if node.is_exclusive:
        result.enable_reuse_port.value = False
    _write_sockets(result, node.address, policy.edge)
    if policy.edge.use_proxy_protocol:
        proxied = result.listener_filters.add(name="envoy.filters.listener.proxy_protocol")
        proxied.typed_config.Pack(proxy_protocol_pb2.ProxyProtocol())
    match node.protocol:
        case "HTTPS":
            inspector = result.listener_filters.add(name="envoy.filters.listener.tls_inspector")
            inspector.typed_config.Pack(_inspector(policy.edge))
        case "TCP":
            proxy = streams.tcp(node.name, node.stream or _NOTHING, names, policy.timeouts.tcp_idle)
            proxy.access_log.extend(logs.access_logs(policy.edge.http_log))
            chain = result.filter_chains.add(name=node.name)
            limit = node.stream.connections if node.stream is not None else None
            clienttraffic.write_limit(chain, node.name, limit)
            added = chain.filters.add(name=streams.TCP)
            added.typed_config.CopyFrom(encoding.packed(proxy))
        case "HTTP":
            manager = connection_manager.plain(node.name, policy)
            chain = result.filter_chains.add(name=node.name)
            answered.write_filters(chain, manager, policy)
    answered.write_head(result, policy.answer)
    if policy.sockets is not None:
        clienttraffic.write_sockets(result, policy.sockets)
    return encoding.encoded(result)


def addresses(head: bytes) -> Iterator[tuple[str, int, bool]]:
    """Where a head listens: address, port, and whether it is UDP."""
    made = pb.Listener.FromString(head)
    for it in (made.address, *(more.address for more in made.additional_addresses)):
        if it.HasField("socket_address"):
            found = it.socket_address
            yield found.address, found.port_value, found.protocol == found.UDP


_NOTHING = nodes.Stream(())


def _write_limits(target: pb.Listener, edge: nodes.Edge) -> None:
    limit = edge.buffer_limit
    target.per_connection_buffer_limit_bytes.value = BUFFER if limit is None else limit
    if edge.max_connections_per_event is not None:
        most = target.max_connections_to_accept_per_socket_event
        most.value = edge.max_connections_per_event


def _write_sockets(target: pb.Listener, address: str, edge: nodes.Edge) -> None:
    """The options of TCP sockets. A traffic class is one of IPv6 sockets only."""
    options = list(_KEEPALIVE)
    if edge.tos:
        options.append((*_TOS, edge.tos))
    if edge.traffic_class and ":" in address:
        options.append((*_TRAFFIC_CLASS, edge.traffic_class))
    for level, option, value in options:
        target.socket_options.add(
            level=level,
            name=option,
            int_value=value,
            state=socket_option_pb2.SocketOption.STATE_PREBIND,
        )
    if edge.exact_balance:
        target.connection_balance_config.exact_balance.SetInParent()


def _inspector(edge: nodes.Edge) -> tls_inspector_pb2.TlsInspector:
    result = tls_inspector_pb2.TlsInspector()
    if edge.ja3:
        result.enable_ja3_fingerprinting.value = True
    if edge.ja4:
        result.enable_ja4_fingerprinting.value = True
    return result


def address(node: nodes.Listener) -> address_pb2.Address:
    """The address on which it listens, over TCP unless the caller says otherwise."""
    result = address_pb2.Address()
    result.socket_address.address = node.address
    result.socket_address.port_value = node.bind_port
    result.socket_address.ipv4_compat = node.address == "::"
    return result
