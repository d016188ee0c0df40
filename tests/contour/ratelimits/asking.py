"""Limits as parts of a configuration, and clients that ask rate limit services as Envoy does."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import httptools
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from grpc import aio

from contour.ratelimits import messages
from contour.ratelimits.service import Service
from contour.xds import wire
from tests.testbed.patience import PATIENCE

SECOND, MINUTE, HOUR, DAY = 1, 2, 3, 4

Descriptor = Sequence[tuple[str, str]]
"""Keys and values, in order."""


def head(name: str, domain: str) -> bytes:
    """The first part of a configuration."""
    return messages.RateLimitConfig(name=name, domain=domain).SerializeToString()


def part(descriptor: messages.RateLimitDescriptor) -> bytes:
    """The part of one rule."""
    return wire.field(3, descriptor.SerializeToString())


def rule(key: str, requests: int, unit: int = DAY) -> messages.RateLimitDescriptor:
    """One entry, whose value is its key."""
    limit = messages.RateLimitPolicy(unit=unit, requests_per_unit=requests)
    return messages.RateLimitDescriptor(key=key, value=key, rate_limit=limit)


def request(domain: str, *descriptors: Descriptor) -> rls_pb2.RateLimitRequest:
    """What Envoy asks."""
    made = rls_pb2.RateLimitRequest(domain=domain)
    for it in descriptors:
        target = made.descriptors.add()
        for key, value in it:
            target.entries.add(key=key, value=value)
    return made


async def decided(
    service: Service, asked: rls_pb2.RateLimitRequest | bytes
) -> rls_pb2.RateLimitResponse:
    """What our service answers to a request, or to its bytes. Raises `calls.Refused`."""
    message = asked if isinstance(asked, bytes) else asked.SerializeToString()
    answer = await service.answer(message, lambda _: None)
    return rls_pb2.RateLimitResponse.FromString(answer)


Ask = Callable[..., Awaitable[bool]]
"""Whether a request with these entries is within the limits."""


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Ask]:
    """A client of the real service, on a port of 127.0.0.1."""
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = rls_pb2_grpc.RateLimitServiceStub(channel)

        async def ask(domain: str, **entries: str) -> bool:
            asked = request(domain, list(entries.items()))
            answer = await stub.ShouldRateLimit(asked, timeout=PATIENCE)
            return answer.overall_code == rls_pb2.RateLimitResponse.OK

        yield ask


class RefusedError(Exception):
    """A call that has failed."""


PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


@dataclass(slots=True)
class Response:
    """What a gRPC server answers over HTTP/1.1, once it is whole."""

    body: bytes = b""
    fields: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """The fields of its head and its trailers."""
    is_whole: bool = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields[name] = value

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.is_whole = True


def framed(message: bytes, path: str = PATH) -> bytes:
    """A call of one message, as Envoy sends it."""
    body = b"\0%b%b" % (len(message).to_bytes(4, "big"), message)
    head = f"POST {path} HTTP/1.1\r\nhost: a\r\nte: trailers\r\ntransfer-encoding: chunked\r\n\r\n"
    return head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


async def received(reader: asyncio.StreamReader) -> bytes:
    """The message of a response. Raises RefusedError, and EOFError where there is no response."""
    found = Response()
    parser = httptools.HttpResponseParser(found)
    async with asyncio.timeout(PATIENCE):
        while not found.is_whole:
            part = await reader.read(1 << 16)
            if not part:
                raise EOFError
            parser.feed_data(part)
    if found.fields[b"grpc-status"] != b"0":
        words = unquote(found.fields[b"grpc-message"].decode())
        raise RefusedError(f"{int(found.fields[b'grpc-status'])}: {words}")
    return found.body[5:]


Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(address: str, tls: ssl.SSLContext | None = None) -> Connected:
    """A connection to `unix:PATH`, or to a port of 127.0.0.1, with TLS to one called `service`."""
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(rest)
    name = "service" if tls is not None else None
    return await asyncio.open_connection(kind, int(rest), ssl=tls, server_hostname=name)


@asynccontextmanager
async def embedded(address: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[Ask]:
    """A client of our service, which answers over HTTP/1.1; it fails with RefusedError."""
    reader, writer = await connected(address, tls)

    async def ask(domain: str, **entries: str) -> bool:
        writer.write(framed(request(domain, list(entries.items())).SerializeToString()))
        answer = rls_pb2.RateLimitResponse.FromString(await received(reader))
        return answer.overall_code == rls_pb2.RateLimitResponse.OK

    yield ask
    writer.close()


async def eventually(condition: Callable[[], object]) -> None:
    """Waits until it is so."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)
