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
"""Bytes of a request, with its head. Envoys send some hundred; more than this only where clients
may send very long headers, or very many conditions count them."""
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
    too_long: bytes
    """The encoded response to a request of more than `MOST` bytes."""

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
        self._is_body = False  # whether the head is complete
        self._call: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new connection, after the handshake of TLS."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some of a request."""
        self._received += len(data)
        if self._received > MOST and not self._is_body:
            self._cut(f"has a head of more than {MOST} bytes")
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

    def on_headers_complete(self) -> None:
        """Its head is complete."""
        self._is_body = True

    def on_body(self, part: bytes) -> None:
        """Some of its body; nothing of one that is too long is kept, but it is read to its end, for
        the answer must not be lost."""
        if self._received > MOST:
            self._body.clear()
        else:
            self._body += part

    def on_message_complete(self) -> None:
        """A request is complete; Envoy sends the next one only after the answer."""
        if self._call is not None:
            self._cut("came before the last one was answered")
            return
        target, body = bytes(self._target), bytes(self._body) if self._received <= MOST else None
        called = self._answered(target, body, stays=self._parser.should_keep_alive())
        self._call = asyncio.ensure_future(called)
        self._target, self._body, self._received = bytearray(), bytearray(), 0
        self._is_body = False

    async def _answered(self, target: bytes, body: bytes | None, *, stays: bool) -> None:
        try:
            message = await self._answer(target, body)
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

    async def _answer(self, target: bytes, body: bytes | None) -> bytes:
        """The answer to a call; None is a body that is too long. Raises `Refused`."""
        if target != self._answering.path:
            raise Refused(StatusCode.UNIMPLEMENTED, f"no such method: {target.decode('latin-1')}")
        if body is None:
            log.warning("a request for a decision has more than %d bytes", MOST)
            return self._answering.too_long
        return await self._answering.answer(_message(body), self._caller)


def _message(body: bytes) -> bytes:
    """The message of a call. Raises `Refused`."""
    if len(body) < _PREFIX or int.from_bytes(body[1:_PREFIX], "big") != len(body) - _PREFIX:
        raise Refused(StatusCode.INTERNAL, "the body is not one message")
    if body[0]:
        raise Refused(StatusCode.UNIMPLEMENTED, "the message is compressed")
    return body[_PREFIX:]


def _refusal(code: StatusCode, words: str) -> bytes:
    number: int = code.value[0]
    return _REFUSAL % (number, quote(words, safe=_PRINTABLE).encode())
