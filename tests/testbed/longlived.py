"""Long-lived traffic while configurations change: streams of 8 seconds, HTTP/2, a WebSocket.

Each goes on until the load ends: a stream is followed by another one on the same connection; the
WebSocket stays open. Whatever ends before it is complete counts as cut; nothing is retried.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import aiohttp
import h2.config
import h2.connection
import h2.events
from hyperframe.frame import Frame, GoAwayFrame

from tests.testbed.load import LOOPBACK, Request, Wrong, read_answer, trusting

STREAM_SECONDS = 8
PIECES = 10


@dataclass(frozen=True, slots=True)
class Target:
    """The target: a host on a port, with TLS or without."""

    port: int
    host: str
    tls: bool = False
    address: str = LOOPBACK

    async def connect(self, *protocols: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens a connection; ALPN offers these protocols, the preferred one first."""
        if not self.tls:
            return await asyncio.open_connection(self.address, self.port)
        return await asyncio.open_connection(
            self.address, self.port, ssl=trusting(*protocols), server_hostname=self.host
        )


@dataclass(slots=True)
class Lasting:
    """The outcomes of long-lived traffic, by kind."""

    whole: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)


@contextlib.asynccontextmanager
async def running(target: Target, streams: int = 4, sockets: int = 1) -> AsyncIterator[Lasting]:
    """Keeps the traffic going while the context lasts, then waits until all of it is complete."""
    lasting, ended = Lasting(), asyncio.Event()
    kinds: list[tuple[str, Life]] = [
        *[("HTTP/1.1 stream", _http1)] * streams,
        *[("HTTP/2 stream", _http2)] * streams,
        *[("WebSocket", _websocket)] * sockets,
    ]
    async with asyncio.TaskGroup() as tasks:
        for name, life in kinds:
            tasks.create_task(_lived(lasting, name, life(target, ended)))
        try:
            yield lasting
        finally:
            ended.set()


Life = Callable[[Target, asyncio.Event], AsyncIterator[None]]
"""Yields whenever an answer is complete, until the event is set; raises when one is cut."""


async def _lived(lasting: Lasting, name: str, life: AsyncIterator[None]) -> None:
    try:
        async for _ in life:
            lasting.whole[name] += 1
    except (OSError, EOFError, Wrong, aiohttp.ClientError) as error:
        lasting.cut[f"{name}: {type(error).__name__} {error}"[:100]] += 1


async def _http1(target: Target, ended: asyncio.Event) -> AsyncIterator[None]:
    reader, writer = await target.connect("http/1.1")
    request = Request(target.host, f"/stream?seconds={STREAM_SECONDS}").encoded()
    while not ended.is_set():
        writer.write(request)
        answer = await read_answer(reader)
        _require_whole(answer.status, answer.body)
        yield
        if answer.headers.get("connection") == "close":  # as it may, between two answers
            writer.close()
            reader, writer = await target.connect("http/1.1")
    writer.close()


async def _http2(target: Target, ended: asyncio.Event) -> AsyncIterator[None]:
    while not ended.is_set():
        reader, writer = await target.connect("h2")
        connection = _Patient(h2.config.H2Configuration(client_side=True))
        connection.initiate_connection()
        is_going = True
        while is_going and not ended.is_set():
            stream = connection.get_next_available_stream_id()
            scheme = "https" if target.tls else "http"
            path = f"/stream?seconds={STREAM_SECONDS}"
            head = {":method": "GET", ":scheme": scheme, ":authority": target.host, ":path": path}
            connection.send_headers(stream, list(head.items()), end_stream=True)
            is_going = await _http2_answer(connection, reader, writer)
            yield
        writer.close()


class _Patient(h2.connection.H2Connection):
    """Completes open streams after a GOAWAY (RFC 9113 §6.8); h2 would ignore their frames."""

    def _receive_goaway_frame(
        self, frame: GoAwayFrame
    ) -> tuple[list[Frame], list[h2.events.Event]]:
        found = super()._receive_goaway_frame(frame)
        self.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
        return found


async def _http2_answer(
    connection: h2.connection.H2Connection,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> bool:
    """Reads one answer to its end; whether the connection takes another request."""
    status, body, is_going = 0, b"", True
    while True:
        writer.write(connection.data_to_send())
        found = await reader.read(65536)
        if not found:
            raise EOFError("within an answer")
        for event in connection.receive_data(found):
            match event:
                case h2.events.ResponseReceived():
                    status = int(dict(event.headers)[b":status"])
                case h2.events.DataReceived():
                    body += event.data
                    connection.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id
                    )
                case h2.events.ConnectionTerminated():
                    is_going = False  # nothing new; what has begun goes on
                case h2.events.StreamReset():
                    raise Wrong(f"reset {event.error_code}")
                case h2.events.StreamEnded():
                    writer.write(connection.data_to_send())
                    _require_whole(status, body)
                    return is_going


async def _websocket(target: Target, ended: asyncio.Event) -> AsyncIterator[None]:
    """One socket, all the time."""
    scheme = "https" if target.tls else "http"
    async with (
        aiohttp.ClientSession(headers={"host": target.host}) as session,
        session.ws_connect(
            f"{scheme}://{target.address}:{target.port}/echo",
            ssl=trusting("http/1.1") if target.tls else True,
            server_hostname=target.host if target.tls else None,
        ) as socket,
    ):
        while not ended.is_set():
            await socket.send_str("still there?")
            message = await socket.receive()
            if message.type is not aiohttp.WSMsgType.TEXT:
                raise EOFError(f"{message.type.name} {message.data}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 0.2)
        yield


def _require_whole(status: int, body: bytes) -> None:
    pieces = body.count(b"\n")
    if status != 200 or pieces != PIECES:
        raise Wrong(f"{status} with {pieces} of {PIECES} pieces")
