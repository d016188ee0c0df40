"""Connections that stay open, over each version of HTTP: many requests, and what became of them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import h2.config
import h2.connection
import h2.errors
import h2.events
from aioquic.asyncio import client as quic
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3 import connection as h3
from aioquic.h3 import events as h3_events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

from tests.contour.envoy import proxies

Fields = Sequence[tuple[str, str]]
PATIENCE = 60  # seconds
_HEAD = 9  # bytes before the content of a frame of HTTP/2
_GOAWAY = 7


class Connection(Protocol):
    """One connection of a client."""

    async def ask(self, host: str, path: str = "/", *more: tuple[str, str]) -> int:
        """The status of the answer to a GET; 0 if the connection or the stream ended instead."""


Opened = AbstractAsyncContextManager[Connection]
"""One that is open while a block lasts."""


class Http1:
    """HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, host: str, path: str = "/", *more: tuple[str, str]) -> int:
        lines = "".join(f"{name}: {value}\r\n" for name, value in more)
        self._writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n{lines}\r\n".encode())
        try:
            async with asyncio.timeout(PATIENCE):
                return (await proxies.answer(self._reader)).status
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            return 0


class Http2:
    """HTTP/2, one stream at a time; `told` is what the server said of the connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        config = h2.config.H2Configuration(
            validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.state = h2.connection.H2Connection(config)
        self.state.initiate_connection()
        self.told: list[h2.events.Event] = []
        self._received = b""
        self._is_leaving = False

    async def ask(self, host: str, path: str = "/", *more: tuple[str, str]) -> int:
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", path)]
        return await self.opened([*fields, *more], ends=True)

    async def opened(self, fields: Fields, *, ends: bool) -> int:
        """The status of the answer to these fields; 0 if the stream was reset instead."""
        if self._is_leaving:
            return 0
        stream = self.state.get_next_available_stream_id()
        try:
            self.state.send_headers(stream, fields, end_stream=ends)
            event = await self._until(stream, h2.events.ResponseReceived, h2.events.StreamReset)
        except (ConnectionError, h2.exceptions.ProtocolError):
            return 0
        if isinstance(event, h2.events.ResponseReceived):
            return int(dict(event.headers)[b":status"])
        return 0

    async def exchanged(self, stream: int, data: bytes) -> bytes:
        """What comes back on an open stream, at least as many bytes as were sent."""
        self.state.send_data(stream, data)
        found = b""
        while len(found) < len(data):
            found += (await self._until(stream, h2.events.DataReceived)).data
        return found

    async def upload(self, host: str, size: int) -> int:
        """Sends a body; returns how often it had to wait for leave to send more."""
        stream, waits = self.state.get_next_available_stream_id(), 0
        fields = [(":method", "POST"), (":scheme", "https"), (":authority", host), (":path", "/")]
        self.state.send_headers(stream, fields)
        while size:
            may = min(size, self.state.local_flow_control_window(stream))
            if not may:
                waits += 1
                self.told.clear()
                await self._until(stream, h2.events.WindowUpdated)
                continue
            size -= may
            for start in range(0, may, self.state.max_outbound_frame_size):
                piece = min(may - start, self.state.max_outbound_frame_size)
                self.state.send_data(stream, bytes(piece))
            self._writer.write(self.state.data_to_send())
        self.state.end_stream(stream)
        await self._until(stream, h2.events.ResponseReceived)
        return waits

    async def _until(self, stream: int, *wanted: type[h2.events.Event]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self._pending(stream, wanted):
                    return event
                self._writer.write(self.state.data_to_send())
                received = await self._reader.read(65536)
                if not received:
                    raise ConnectionError
                self._receive(received)

    def _receive(self, received: bytes) -> None:
        """The library takes nothing after a GOAWAY, but open streams go on (RFC 9113, 6.8)."""
        self._received += received
        while len(self._received) >= _HEAD:
            length = _HEAD + int.from_bytes(self._received[:3])
            if len(self._received) < length:
                return
            frame, self._received = self._received[:length], self._received[length:]
            if frame[3] == _GOAWAY:
                self._is_leaving = True
                continue
            for event in self.state.receive_data(frame):
                if isinstance(event, h2.events.DataReceived):
                    length = event.flow_controlled_length
                    self.state.acknowledge_received_data(length, event.stream_id)
                self.told.append(event)

    def _pending(self, stream: int, wanted: tuple[type[h2.events.Event], ...]) -> list[Any]:
        for event in self.told:
            if isinstance(event, wanted) and getattr(event, "stream_id", None) == stream:
                self.told.remove(event)
                return [event]
        return []


class _Http3(QuicConnectionProtocol):
    """HTTP/3."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._h3 = h3.H3Connection(self._quic)
        self._answers: dict[int, asyncio.Future[int]] = {}

    async def ask(self, host: str, path: str = "/", *more: tuple[str, str]) -> int:
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", path)]
        stream = self._quic.get_next_available_stream_id()
        self._answers[stream] = asyncio.get_running_loop().create_future()
        encoded = [(name.encode(), value.encode()) for name, value in (*fields, *more)]
        self._h3.send_headers(stream, encoded, end_stream=True)
        self.transmit()
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._answers[stream]
        except ConnectionError:
            return 0

    def quic_event_received(self, event: QuicEvent) -> None:
        for it in self._h3.handle_event(event):
            if isinstance(it, h3_events.HeadersReceived) and not self._answers[it.stream_id].done():
                self._answers[it.stream_id].set_result(int(dict(it.headers)[b":status"]))


@asynccontextmanager
async def tcp(
    port: int, version: str, sni: str | None, context: ssl.SSLContext | None = None
) -> AsyncIterator[Http1 | Http2]:
    """A connection for `http/1.1` or `h2`; with a server name (perhaps empty), over TLS."""
    tls = None if sni is None else context or unverified()
    if tls is not None:
        tls.set_alpn_protocols([version])
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=tls, server_hostname=sni or None if tls else None
        )
    try:
        yield (Http2 if version == "h2" else Http1)(reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)  # then it is closed


@asynccontextmanager
async def udp(port: int, sni: str, patience: float = PATIENCE) -> AsyncIterator[Connection]:
    """A connection for HTTP/3; ConnectionError if there is none to be had within some seconds."""
    wanted = QuicConfiguration(alpn_protocols=h3.H3_ALPN, idle_timeout=patience)
    wanted.server_name = sni or None
    wanted.verify_mode = ssl.CERT_NONE
    async with quic.connect(
        "127.0.0.1", port, configuration=wanted, create_protocol=_Http3
    ) as client:
        assert isinstance(client, _Http3)
        yield client


def unverified() -> ssl.SSLContext:
    """What a client connects with that takes any certificate."""
    result = ssl.create_default_context()
    result.check_hostname = False
    result.verify_mode = ssl.CERT_NONE
    return result
