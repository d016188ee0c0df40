"""The sockets of a session, so that none outlives it.

A TLS connection that is closed says goodbye and waits for an answer, for up to 30 seconds; one that
is abandoned while it is made goes on being made. The HTTP client has forgotten both: without this
an API server that hangs would leave them open when the loop that would close them has ended.
"""

import asyncio
import socket
from contextlib import suppress
from weakref import WeakKeyDictionary

Address = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]
"""As `getaddrinfo` gives it."""

PATIENCE = 1.0  # seconds, a thousand times what it takes to notice that a socket was shut down


class Sockets:
    """All that were made and are still open."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[socket.socket, float] = WeakKeyDictionary()

    def make(self, address: Address) -> socket.socket:
        """One for a connection to an address."""
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        self._made[made] = asyncio.get_running_loop().time()
        return made

    def cut(self, before: float, but: int) -> None:
        """Ends the connections made before this time, but not that of this descriptor."""
        for it in self._open():
            if self._made[it] < before and it.fileno() != but:
                with suppress(OSError):
                    it.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """Ends every connection now; returns when the loop has let go of them."""
        for it in self._open():
            with suppress(OSError):  # not connected yet, or not any more
                it.shutdown(socket.SHUT_RDWR)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._open():
                    await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [it for it in self._made if it.fileno() != -1]
