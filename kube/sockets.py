"""The sockets of a session, kept so that none outlives it.

A closed TLS connection waits up to 30 seconds for the other side to close; one that is abandoned
during its handshake continues with that. The HTTP client no longer tracks either: without this, an
API server that hangs would leave them open when the loop that would close them has ended.
"""

import asyncio
import socket
from contextlib import suppress
from weakref import WeakKeyDictionary

Address = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]
"""As `getaddrinfo` gives it."""

PATIENCE = 1.0  # seconds, a thousand times as long as noticing that a socket was shut down takes


class Sockets:
    """The sockets that were made and are still open."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[socket.socket, float] = WeakKeyDictionary()

    def make(self, address: Address) -> socket.socket:
        """A socket for a connection to an address."""
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        self._made[made] = asyncio.get_running_loop().time()
        return made

    def cut(self, before: float, but: int) -> None:
        """Shuts down the connections made before this time, except that of this descriptor."""
        for it in self._open():
            if self._made[it] < before and it.fileno() != but:
                with suppress(OSError):
                    it.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """Shuts down every connection; returns when the event loop has released them."""
        for it in self._open():
            with suppress(OSError):  # not connected yet, or not any more
                it.shutdown(socket.SHUT_RDWR)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._open():
                    await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [it for it in self._made if it.fileno() != -1]
