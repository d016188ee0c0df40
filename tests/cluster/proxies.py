"""The network between processes of one machine: connections to cut, and a model of a Service.

A `TcpProxy` stands between a replica and its API server. Once severed, it swallows all bytes and
closes nothing, as when packets are dropped. New connections pass, unless it is closed: then it
swallows theirs as well.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

Connections = set[asyncio.Task[Any]]
"""The open connections, each a task."""


@dataclass(eq=False, slots=True)
class TcpProxy:
    """A proxy between a port of its own and a server on this machine."""

    target: int
    url: str = ""
    is_closed: bool = False
    is_refusing: bool = False
    swallowed: int = 0
    """Bytes."""
    _open: set[asyncio.Event] = field(
        default_factory=set
    )  # one for each connection; if it is set, nothing passes any more
    _transports: set[asyncio.WriteTransport] = field(default_factory=set)
    _connections: Connections = field(default_factory=set)

    @staticmethod
    @contextlib.asynccontextmanager
    async def to(url: str) -> AsyncIterator["TcpProxy"]:
        """A proxy to a URL, open; it does not terminate TLS."""
        target = urlsplit(url)
        proxy = TcpProxy(target.port or 80)
        server = await asyncio.start_server(proxy._connected, "127.0.0.1", 0)
        proxy.url = f"{target.scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield proxy
        finally:
            server.close()
            await _ended(proxy._connections)

    def sever(self) -> int:
        """Lets the open connections hang; returns how many there are."""
        for severed in self._open:
            severed.set()
        return len(self._open)

    def close(self) -> int:
        """The same, also for new connections."""
        self.is_closed = True
        return self.sever()

    def refuse(self) -> int:
        """Ends all connections, and new ones at once; returns how many there were."""
        self.is_closed = self.is_refusing = True
        for transport in self._transports:
            transport.abort()
        return len(self._transports)

    def reopen(self) -> None:
        """Lets new connections pass from now on."""
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
            with _counted(self._connections, writer):
                inner, outer = await asyncio.open_connection("127.0.0.1", self.target)
                with contextlib.closing(outer.transport):
                    await asyncio.gather(
                        self._forward(reader, outer, severed), self._forward(inner, writer, severed)
                    )
        finally:
            self._open.discard(severed)
            self._transports.discard(writer.transport)

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


class Target(NamedTuple):
    """An endpoint of a Service."""

    port: int
    is_ready: Callable[[], Awaitable[bool]]


@dataclass(eq=False, slots=True)
class Service:
    """Sends new connections to the ready targets in turn; open ones stay where they are.

    It is a model: a real Service learns of readiness by probes, some seconds later.
    """

    targets: list[Target] = field(default_factory=list)
    _next: int = 0
    _connections: Connections = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def at(self, place: Path | int) -> AsyncIterator[None]:
        """Listens on a Unix socket, or on a port of this machine."""
        if isinstance(place, int):
            server = await asyncio.start_server(self._connected, "127.0.0.1", place)
        else:
            server = await asyncio.start_unix_server(self._connected, place)
        try:
            yield
        finally:
            server.close()
            await _ended(self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ready = [it for it in self.targets if await it.is_ready()]
        if not ready:
            writer.close()
            return
        self._next += 1
        port = ready[self._next % len(ready)].port
        with _counted(self._connections, writer):
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(outer.transport):
                await asyncio.gather(_copied(reader, outer), _copied(inner, writer))


@contextlib.contextmanager
def _counted(connections: Connections, writer: asyncio.StreamWriter) -> Iterator[None]:
    """Registers the task of a connection while it lasts, and closes the connection at the end."""
    task = asyncio.current_task()
    assert task is not None
    connections.add(task)
    try:
        yield
    except (OSError, asyncio.CancelledError):
        pass  # the server is away, or we are done; asyncio would complain
    finally:
        writer.transport.abort()
        connections.discard(task)


async def _ended(connections: Connections) -> None:
    for it in tuple(connections):
        it.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(ConnectionError):
            while found := await reader.read(1 << 16):
                writer.write(found)
                await writer.drain()
    finally:
        writer.close()
