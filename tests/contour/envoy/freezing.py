"""A control plane that freezes between two messages, as a stopped process does.

A relay stands between Envoy and the server. It counts the gRPC messages that the server sends and
passes on no more than it may: from then on it takes new connections and answers nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

_FRAME_HEADER = 9  # bytes of an HTTP/2 frame
_MESSAGE_HEADER = 5  # bytes of a gRPC message
_DATA = 0


class Messages:
    """Counts the complete messages in the bytes of one HTTP/2 connection from the server."""

    def __init__(self) -> None:
        self._bytes = b""
        self._data = b""

    def took(self, read: bytes) -> int:
        """How many messages these bytes complete."""
        self._bytes += read
        while len(self._bytes) >= _FRAME_HEADER:
            end = _FRAME_HEADER + int.from_bytes(self._bytes[:3], "big")
            if len(self._bytes) < end:
                break
            if self._bytes[3] == _DATA:
                self._data += self._bytes[_FRAME_HEADER:end]
            self._bytes = self._bytes[end:]
        return self._complete()

    def _complete(self) -> int:
        found = 0
        while len(self._data) >= _MESSAGE_HEADER:
            end = _MESSAGE_HEADER + int.from_bytes(self._data[1:5], "big")
            if len(self._data) < end:
                break
            self._data = self._data[end:]
            found += 1
        return found


class Relay:
    """Passes everything on until `most` messages have come from the server, and after the thaw."""

    def __init__(self, server: Path, most: int) -> None:
        self._server = server
        self._most = most
        self._flows = asyncio.Event()
        self._flows.set()
        self._serving: set[asyncio.Task[None] | None] = set()
        self.passed = 0
        self.is_frozen = False

    def thaw(self) -> None:
        self._most = -1
        self._flows.set()

    async def end(self) -> None:
        """Ends all connections."""
        found = [it for it in self._serving if it]
        for it in found:
            it.cancel()
        await asyncio.gather(*found)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of Envoy."""
        self._serving.add(asyncio.current_task())
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.CancelledError):
            await self._flows.wait()
            back, forth = await asyncio.open_unix_connection(self._server)
            with contextlib.closing(forth):
                await asyncio.gather(
                    self._pump(reader, forth, None), self._pump(back, writer, Messages())
                )

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Messages | None
    ) -> None:
        """Small reads, so that the last message is followed by as little as can be."""
        with contextlib.suppress(OSError):
            while read := await reader.read(64 if count else 65536):
                await self._flows.wait()
                writer.write(read)
                await writer.drain()
                self.passed += count.took(read) if count else 0
                if self.passed >= self._most >= 0:
                    self._flows.clear()
                    self.is_frozen = True
        writer.close()


@contextlib.asynccontextmanager
async def relaying(to: Path, at: Path, most: int) -> AsyncIterator[Relay]:
    """A relay on a Unix socket, that freezes after so many messages."""
    relay = Relay(to, most)
    server = await asyncio.start_unix_server(relay.serve, at)
    try:
        yield relay
    finally:
        server.close()
        await relay.end()
