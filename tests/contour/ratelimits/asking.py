"""Limits as parts of a configuration, and a client that asks a rate limit service as Envoy does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import grpc
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from grpc import aio

from contour.ratelimits import messages
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


Ask = Callable[..., Awaitable[bool]]
"""Whether a request with these entries is within the limits."""


@asynccontextmanager
async def client(
    address: int | str, credentials: grpc.ChannelCredentials | None = None
) -> AsyncIterator[Ask]:
    """A client of a service on a port of 127.0.0.1, or at `unix:PATH`; with credentials over TLS,
    of a service that is called `service`."""
    target = address if isinstance(address, str) else f"127.0.0.1:{address}"
    name = (("grpc.ssl_target_name_override", "service"),)
    async with (
        aio.insecure_channel(target)
        if credentials is None
        else aio.secure_channel(target, credentials, name)
    ) as channel:
        stub = rls_pb2_grpc.RateLimitServiceStub(channel)

        async def ask(domain: str, **entries: str) -> bool:
            asked = request(domain, list(entries.items()))
            answer = await stub.ShouldRateLimit(asked, timeout=PATIENCE)
            return answer.overall_code == rls_pb2.RateLimitResponse.OK

        yield ask


async def eventually(condition: Callable[[], object]) -> None:
    """Waits until it is so."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)
