"""Options of sockets (Linux), as Envoy sets them."""

from collections.abc import Iterator

from envoy.config.core.v3 import socket_option_pb2

from dag import nodes

SOL_SOCKET, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE = 1, 7, 8, 9
IPPROTO_TCP, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT = 6, 4, 5, 6

Option = tuple[int, int, int]
"""Level, name and value."""


def of_keepalive(node: nodes.Keepalive) -> Iterator[Option]:
    """Keepalive probes on idle connections."""
    yield SOL_SOCKET, SO_KEEPALIVE, 1
    yield IPPROTO_TCP, TCP_KEEPIDLE, node.idle
    yield IPPROTO_TCP, TCP_KEEPINTVL, node.interval
    yield IPPROTO_TCP, TCP_KEEPCNT, node.probes


def of_buffers(size: int) -> Iterator[Option]:
    """The sizes of the kernel's buffers, in either direction."""
    yield SOL_SOCKET, SO_RCVBUF, size
    yield SOL_SOCKET, SO_SNDBUF, size


def message(option: Option) -> socket_option_pb2.SocketOption:
    """An option that is set before the socket is bound."""
    level, name, value = option
    return socket_option_pb2.SocketOption(
        level=level,
        name=name,
        int_value=value,
        state=socket_option_pb2.SocketOption.STATE_PREBIND,
    )
