"""A client that never retries and counts the outcome of every request, lost ones included.

Requests at a given rate over kept-alive HTTP/1.1 connections, written by hand so that no library
silently sends one twice. A connection the server closed with a complete answer is replaced; one
that breaks within an answer is a failure. Long responses, HTTP/2 and a WebSocket are in
`longlived`.
"""

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, Protocol

LOOPBACK = "127.0.0.1"
PATIENCE = 10.0
"""How long an answer may take, in seconds."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


class Request(NamedTuple):
    """A request without a body."""

    host: str
    path: str = "/"

    def encoded(self) -> bytes:
        """The bytes of HTTP/1.1."""
        return f"GET {self.path} HTTP/1.1\r\nhost: {self.host}\r\n\r\n".encode()


class Encoded(Protocol):
    """What can be sent."""

    def encoded(self) -> bytes:
        """The bytes of HTTP/1.1."""
        ...


@dataclass(slots=True)
class Tally:
    """The outcomes of all requests."""

    sent: int = 0
    answers: Counter[str] = field(default_factory=Counter)  # by backend, or however told apart
    failures: Counter[str] = field(default_factory=Counter)  # by reason
    slowest: float = 0.0

    @property
    def lost(self) -> int:
        """How many requests did not get a right answer."""
        return self.failures.total()

    def require_all(self, *backends: str) -> None:
        """Asserts that each request was answered with 200, and that each of the backends
        answered."""
        assert not self.failures
        assert set(self.answers) == set(backends)


class Wrong(Exception):  # noqa: N818
    """An answer that no request should have got."""


@cache
def trusting(*protocols: str) -> ssl.SSLContext:
    """A TLS context that accepts any certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if protocols:
        made.set_alpn_protocols(list(protocols))
    return made


class Connection:
    """A kept-alive connection to a port; with TLS if a server is named, or `tls` is given."""

    def __init__(
        self,
        port: int,
        server_name: str = "",
        address: str = LOOPBACK,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._port, self._server_name, self._address = port, server_name, address
        self._tls = tls
        self.asked = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._closed: asyncio.StreamWriter | None = None  # the last one

    async def ask(self, request: Encoded) -> Answer:
        """Sends a request; returns its answer. Raises OSError or EOFError if there is none."""
        if self._reader is not None and self._reader.at_eof():
            self.close()  # while it was idle; nothing was sent on it
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                self._address,
                self._port,
                ssl=self._tls or (trusting("http/1.1") if self._server_name else None),
                server_hostname=self._server_name or None,
            )
        self.asked += 1
        try:
            self._writer.write(request.encoded())
            assert self._reader is not None
            answer = await read_answer(self._reader)
        except BaseException:
            self.close()
            raise
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer

    def close(self) -> None:
        """Ends it; the next request opens another one."""
        if self._writer is not None:
            self._writer.close()
            self._closed = self._writer
        self._reader = self._writer = None

    async def end(self) -> None:
        """Closes it and waits for that: the peer of a TLS connection has to answer the close first,
        and an event loop that ended before would leave the socket open."""
        self.close()
        if self._closed is not None:
            with contextlib.suppress(OSError):
                try:
                    async with asyncio.timeout(_LAST_WORDS):
                        await self._closed.wait_closed()
                except TimeoutError:
                    self._closed.transport.abort()


_LAST_WORDS = 5.0  # seconds


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Reads one answer. Raises EOFError if it is cut."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    if headers.get("transfer-encoding") == "chunked":
        return Answer(status, headers, await _chunks(reader))
    return Answer(status, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


class Load:
    """Sends requests in turn at a rate, until it is stopped."""

    def __init__(
        self,
        port: int,
        requests: Sequence[Request],
        rate: float,
        server_name: str = "",
        address: str = LOOPBACK,
        *,
        tls: ssl.SSLContext | None = None,
        a_connection: int = 0,
        clients: int = 0,
    ) -> None:
        """TLS is used if a server is named. Limits the requests on a connection and those at once,
        if numbers are given.

        With the latter limit, fewer requests are sent while the machine is busy.
        """
        self._clients = clients
        self.tally = Tally()
        self.seconds = 0.0
        self.requests = requests
        self._rate = rate
        self._fresh = partial(Connection, port, server_name, address, tls if server_name else None)
        self._a_connection = a_connection
        self._idle: list[Connection] = []
        self._going: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Tally]:
        """Loads while the context lasts, then waits for the last answers."""
        start = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            pacing = tasks.create_task(self._pace(tasks))
            try:
                yield self.tally
            finally:
                pacing.cancel()
                self.seconds = time.monotonic() - start
                if self._going:
                    await asyncio.wait(self._going)
        for it in self._idle:
            await it.end()

    @contextlib.contextmanager
    def in_background(self) -> Iterator[Tally]:
        """The same in a thread, for callers without an event loop."""
        over = threading.Event()

        async def run() -> None:
            async with self.running():
                await asyncio.to_thread(over.wait)

        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(asyncio.run, run())
            try:
                yield self.tally
            finally:
                over.set()
                running.result()

    async def _pace(self, tasks: asyncio.TaskGroup) -> None:
        start = time.monotonic()
        while True:
            due = int((time.monotonic() - start) * self._rate)
            while self.tally.sent < due:
                if self._clients and len(self._going) >= self._clients:
                    start = time.monotonic() - self.tally.sent / self._rate
                    break
                request = self.requests[self.tally.sent % len(self.requests)]
                self.tally.sent += 1
                task = tasks.create_task(self._one(request))
                self._going.add(task)
                task.add_done_callback(self._going.discard)
            await asyncio.sleep(0.002)

    async def _one(self, request: Request) -> None:
        connection = self._idle.pop() if self._idle else self._fresh()
        start = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await connection.ask(request)
            self.tally.answers[_backend(answer)] += 1
        except Wrong as wrong:
            self.tally.failures[str(wrong)] += 1
        except TimeoutError:
            self.tally.failures["no answer in time"] += 1
        except (OSError, EOFError, ValueError) as error:
            self.tally.failures[f"{type(error).__name__}: {error}"[:100]] += 1
        self.tally.slowest = max(self.tally.slowest, time.monotonic() - start)
        if self._a_connection and connection.asked % self._a_connection == 0:
            connection.close()
        self._idle.append(connection)


def _backend(answer: Answer) -> str:
    """Which backend answered; only 200 is a right answer."""
    if answer.status != 200:
        words = answer.body[:80].decode(errors="replace")
        raise Wrong(f"{answer.status} {words}")
    return str(json.loads(answer.body)["backend"])
