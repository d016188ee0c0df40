"""Accepts calls of one gRPC method over HTTP/1.1, which Envoys use for a cluster with that
protocol.

Envoy's gRPC client uses the HTTP version of the cluster; it needs trailers in responses, which
HTTP/1.1 has, too (RFC 9112, section 7.1.2). For an empty call, `grpcio` takes some 250 µs of a core
with threads and 450 µs with asyncio; this takes some 30 µs.

A call is one message each way (the gRPC protocol over HTTP/2, "Length-Prefixed-Message").
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol
from urllib.parse import quote

import httptools
from grpc import StatusCode

log = logging.getLogger(__name__)

MOST = 8 << 20
"""Bytes of a request, with its head; who sends more is cut off, so the limits of that request do
not hold. Envoys send some hundred; 128 rules that all count the longest header that Envoy takes
(60 KiB) are less."""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\n"
_ANSWER = _HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\ngrpc-status: 0\r\n\r\n"
_REFUSAL = _HEAD + b"grpc-status: %d\r\ngrpc-message: %b\r\ncontent-length: 0\r\n\r\n"
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
_PREFIX = 5  # bytes: whether the message is compressed, and its length


class Refused(Exception):  # noqa: N818
    """A call that is refused; the text is for the caller's log."""

    def __init__(self, code: StatusCode, words: str) -> None:
        super().__init__(words)
        self.code = code


Caller = Callable[[str], object]
"""Gives information about the peer of a connection, like `asyncio.BaseTransport.get_extra_info`."""


class Answering(Protocol):
    """Answers calls."""

    path: bytes
    """The path of the method."""

    async def answer(self, message: bytes, caller: Caller) -> bytes:
        """The encoded response to an encoded request. Raises `Refused`."""
        ...


class Connection(asyncio.Protocol):
    """A connection of an Envoy, with one call at a time."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._parser = httptools.HttpRequestParser(self)
        self._received = 0  # bytes since the last call
        self._target, self._body = bytearray(), bytearray()
        self._call: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new connection, after the handshake of TLS."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some of a request."""
        self._received += len(data)
        if self._received > MOST:
            self._cut(f"has more than {MOST} bytes")
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._cut(f"cannot be read: {error}")

    def _cut(self, why: str) -> None:
        log.warning("a request for a decision %s", why)
        self._transport.abort()

    def on_url(self, part: bytes) -> None:
        """Some of the target of a request."""
        self._target += part

    def on_body(self, part: bytes) -> None:
        """Some of its body."""
        self._body += part

    def on_message_complete(self) -> None:
        """A request is complete; Envoy sends the next one only after the answer."""
        if self._call is not None:
            self._cut("came before the last one was answered")
            return
        target, body = bytes(self._target), bytes(self._body)
        called = self._answered(target, body, stays=self._parser.should_keep_alive())
        self._call = asyncio.ensure_future(called)
        self._target, self._body, self._received = bytearray(), bytearray(), 0

    async def _answered(self, target: bytes, body: bytes, *, stays: bool) -> None:
        try:
            message = await self._answering.answer(self._message(target, body), self._caller)
            framed = b"\0%b%b" % (len(message).to_bytes(4, "big"), message)
            answer = _ANSWER % (len(framed), framed)
        except Refused as it:
            answer = _refusal(it.code, str(it))
        except Exception:
            log.exception("a request for a decision met an error of ours")
            answer = _refusal(StatusCode.INTERNAL, "an error of the rate limit service")
        self._call = None
        self._transport.write(answer)  # without effect if the Envoy is gone
        if not stays:
            self._transport.close()

    def _caller(self, name: str) -> object:
        return self._transport.get_extra_info(name)

    def _message(self, target: bytes, body: bytes) -> bytes:
        """The message of a call. Raises `Refused`."""
        if target != self._answering.path:
            raise Refused(StatusCode.UNIMPLEMENTED, f"no such method: {target.decode('latin-1')}")
        if len(body) < _PREFIX or int.from_bytes(body[1:_PREFIX], "big") != len(body) - _PREFIX:
            raise Refused(StatusCode.INTERNAL, "the body is not one message")
        if body[0]:
            raise Refused(StatusCode.UNIMPLEMENTED, "the message is compressed")
        return body[_PREFIX:]


def _refusal(code: StatusCode, words: str) -> bytes:
    number: int = code.value[0]
    return _REFUSAL % (number, quote(words, safe=_PRINTABLE).encode())
