"""A way to a server that can be cut: the network between a replica and its API server.

Half-open, it swallows everything and closes nothing, as when packets are dropped. Those who come
anew pass, unless the way is closed: then they are swallowed as well.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(eq=False, slots=True)
class Way:
    """Between a port of its own and a server on this machine."""

    target: int
    url: str = ""
    is_closed: bool = False
    is_refusing: bool = False
    swallowed: int = 0
    """Bytes."""
    _open: set[asyncio.Event] = field(default_factory=set)  # set: nothing passes any more
    _transports: set[asyncio.WriteTransport] = field(default_factory=set)

    @staticmethod
    @contextlib.asynccontextmanager
    async def to(url: str) -> AsyncIterator["Way"]:
        """A way that is open."""
        way = Way(urlsplit(url).port or 80)
        server = await asyncio.start_server(way._connected, "127.0.0.1", 0)
        way.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield way
        finally:
            server.close()

    def sever(self) -> int:
        """What is connected now hears nothing any more; how many connections that are."""
        for severed in self._open:
            severed.set()
        return len(self._open)

    def close(self) -> int:
        """The same, and nobody gets through any more."""
        self.is_closed = True
        return self.sever()

    def refuse(self) -> int:
        """Every connection ends, also those to come; how many there were."""
        self.is_closed = self.is_refusing = True
        for transport in self._transports:
            transport.abort()
        return len(self._transports)

    def reopen(self) -> None:
        """Who comes from now on gets through."""
        self.is_closed = self.is_refusing = False

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        severed = asyncio.Event()
        if self.is_closed:
            severed.set()
        if self.is_refusing:
            writer.transport.abort()
            return
        self._open.add(severed)
        self._transports.add(writer.transport)
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(
                self._forward(reader, outer, severed), self._forward(inner, writer, severed)
            )
        except (OSError, asyncio.CancelledError):
            pass  # the server is away, or we are done; asyncio would complain
        finally:
            self._open.discard(severed)
            self._transports.discard(writer.transport)
            writer.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, severed: asyncio.Event
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while found := await reader.read(1 << 16):
                if severed.is_set():
                    self.swallowed += len(found)
                else:
                    writer.write(found)
                    await writer.drain()
        if not severed.is_set():
            writer.close()
