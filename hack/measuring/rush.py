"""As many requests as one process can send over kept-alive connections, to measure processor time.

Each connection has one request at a time, for a random host. The client is not measured, so it does
as little as it can: sockets and `epoll`, no event loop.
"""

import select
import socket
from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType

CONNECTIONS = 32
Headers = Mapping[str, str]
NO_HEADERS: Headers = MappingProxyType({})
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class UnexpectedError(Exception):
    """An answer that is not what every request should get."""


class Rush:
    """Clients of one port of the loopback interface, whose connections stay open."""

    def __init__(
        self, port: int, hosts: Sequence[str], chance: Random, headers: Headers = NO_HEADERS
    ) -> None:
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._requests = [f"GET / HTTP/1.1\r\nhost: {it}\r\n{more}\r\n".encode() for it in hosts]
        self._chance = chance
        self._poll = select.epoll()
        self._sockets = dict[int, socket.socket]()
        for _ in range(CONNECTIONS):
            made = socket.create_connection(("127.0.0.1", port), timeout=30)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[made.fileno()] = made
            self._poll.register(made.fileno(), select.EPOLLIN)

    def send(self, number: int) -> None:
        """Sends a number of requests; returns when all are answered with 200.

        Raises UnexpectedError for any other answer, or if there is none within 30 seconds.
        """
        received = dict.fromkeys(self._sockets, b"")
        for it in self._sockets.values():
            self._ask(it)
        sent, answered = len(received), 0
        while answered < sent:
            ready = self._poll.poll(30)
            if not ready:
                raise UnexpectedError("no answer within 30 s")
            for descriptor, _ in ready:
                found = received[descriptor] + self._sockets[descriptor].recv(1 << 16)
                if not _is_whole(found):
                    received[descriptor] = found
                    continue
                received[descriptor] = b""
                answered += 1
                if sent < number:
                    sent += 1
                    self._ask(self._sockets[descriptor])

    def _ask(self, connection: socket.socket) -> None:
        connection.send(self._chance.choice(self._requests))

    def close(self) -> None:
        """Closes all connections."""
        self._poll.close()
        for it in self._sockets.values():
            it.close()


def _is_whole(found: bytes) -> bool:
    """Whether this is one whole answer. Raises UnexpectedError if it is not the expected one."""
    if not found.startswith(b"HTTP/1.1 200"[: len(found)]) or not found:
        raise UnexpectedError(found[:200].decode("latin-1") or "the connection was closed")
    head, end, body = found.partition(_END)
    if not end:
        return False
    length = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
    return len(body) >= int(length)
