"""Ends the connections of some Envoys, so that they connect to another replica.

Ending a stream is not enough: Envoy opens the next one on the same connection. gRPC has no way to
close a single connection, so its socket is found among those of the process and shut down, which
ends the connection for both sides. Envoy keeps its configuration, and reconnects through the
Service within two seconds. It works on Linux only, as does Envoy.
"""

import os
import socket
import stat
from collections.abc import Collection
from contextlib import suppress
from urllib.parse import unquote

LAST_WRITE = 0.5
"""Seconds in which a client has to read what it is being sent when its call is to end. gRPC cannot
end a call in the middle of a message, so a client that does not read is disconnected then."""

_DESCRIPTORS = "/proc/self/fd"


def disconnect(peers: Collection[str]) -> int:
    """Shuts down the connections with these peers, in gRPC's notation (`ipv4:10.0.0.1:4711`). The
    name of a Unix socket (`unix:/path`) stands for all of its clients, which have none. Returns how
    many there were."""
    wanted, found = {*peers, *map(unquote, peers)}, 0
    for number in _sockets() if wanted else ():
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as it:
            if _named(it) in wanted:
                it.shutdown(socket.SHUT_RDWR)
                found += 1
    return found


def _sockets() -> list[int]:
    """The descriptors that are sockets; duplicates of other descriptors would be left open."""
    try:
        return [number for it in os.listdir(_DESCRIPTORS) if _is_socket(number := int(it))]
    except FileNotFoundError:
        return []


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:  # closed meanwhile
        return False


def _named(of: socket.socket) -> str:
    """The other side in gRPC's notation."""
    if of.family == socket.AF_INET:
        host, port = of.getpeername()
        return f"ipv4:{host}:{port}"
    if of.family == socket.AF_INET6:
        host, port = of.getpeername()[:2]
        mapped = host.removeprefix("::ffff:")
        return f"ipv4:{mapped}:{port}" if "." in mapped else f"ipv6:[{host}]:{port}"
    if of.family == socket.AF_UNIX and of.getsockname():
        of.getpeername()  # raises OSError for the socket that listens
        return f"unix:{of.getsockname()}"
    return ""
