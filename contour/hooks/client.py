"""Asks an extension server, over one connection.

A question is answered or fails with a reason; faults of a server raise no exceptions, and no
question takes longer than its deadline. gRPC keeps the connection and reconnects.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

import grpc
from grpc import aio

from contour.hooks import replies, wire
from contour.hooks.replies import Answer, Failure, failure
from contour.hooks.wire import Hook

Transient = Literal["UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"]
"""Statuses of gRPC after which a question may be asked again."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often, and after how long, a question is asked again; the defaults are Envoy
    Gateway's."""

    attempts: int = 4
    """The number of attempts, including the first."""
    shortest: float = 0.1
    """Seconds before the second attempt; half to all of it, at random."""
    longest: float = 1.0
    factor: float = 2.0
    statuses: frozenset[Transient] = frozenset({"UNAVAILABLE"})


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server is verified, and how we show who we are. All in PEM."""

    authorities: bytes | None = None
    """CA certificates; None for those of the system."""
    certificate: bytes | None = None
    """Our certificate chain, if the server asks for one."""
    private_key: bytes | None = field(default=None, repr=False)
    server_name: str | None = None
    """The name that the server's certificate must have, if it is not the host."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where a server is, and how it is asked."""

    address: str
    """`HOST:PORT`, or `unix:/absolute/path`."""
    tls: Tls | None = None
    deadline: float = 5.0
    """Seconds for a question with all its attempts, from when it is sent."""
    retries: Retries = field(default_factory=Retries)
    max_message_size: int = 4 << 20
    """Bytes; of a question and of a reply."""
    max_lists_size: int = 64 << 20
    """The same for Translation, which is about everything at once. (10,000 clusters are about 4
    MB. Servers have a bound of their own: that of gRPC is 4 MiB.)"""
    max_in_flight: int = 64
    """Questions at once; more of them wait, without a deadline, in the order in which they came."""


_RECONNECT: Final = 500
"""Milliseconds between two attempts to connect, at most."""
_CONNECT: Final = 5_000
"""Milliseconds that an attempt to connect may take, with the handshake of TLS. gRPC calls it a
backoff, but does not wait for so long after an attempt that has failed."""
_STUCK: Final = 3
"""After so many missed deadlines in a row the connection is made anew: a host that has vanished
does not end it. Pings would tell, but servers in Go end connections that ping oftener than every
five minutes."""


class Client:
    """One server. Use it on one event loop, and close it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._slots = asyncio.Semaphore(service.max_in_flight)
        self._connection = _Connection(_channel(service))
        self._missed = 0
        self._is_closed = False

    async def ask(self, hook: Hook, question: bytes) -> Answer | Failure:
        """The server's answer to a question, which `wire.encoded_request` has encoded, or why there
        is none."""
        service = self.service
        bound = service.max_lists_size if hook == "Translation" else service.max_message_size
        if len(question) > bound:
            return failure("TooLarge", f"the question has {len(question)} bytes of {bound}")
        async with self._slots:
            body = await self._persist(hook, question)
        if isinstance(body, Failure):
            return body
        if len(body) > bound:
            return failure("TooLarge", f"the reply has {len(body)} bytes of {bound}")
        return await replies.read(hook, question, body)

    async def connections(self) -> AsyncGenerator[int]:
        """Connects and stays connected, until it is closed; yields the numbers of the connections,
        from 1.

        From the second on, the server may be another one, or may have forgotten the questions.
        Without this iterator, the first question makes the connection.
        """
        number = 0
        while not self._is_closed:
            async for _ in self._connection.made():
                number += 1
                yield number

    async def close(self) -> None:
        """Waits for questions that are open, until their deadline, and ends the connection."""
        self._is_closed = True
        await self._connection.close(self.service.deadline)

    async def _persist(self, hook: Hook, question: bytes) -> bytes | Failure:
        """Asks until there is an answer, no attempt is left, or the time is over."""
        retries, loop = self.service.retries, asyncio.get_running_loop()
        until, pause = loop.time() + self.service.deadline, retries.shortest
        for attempt in range(1, retries.attempts + 1):
            if self._is_closed:
                return failure("Unavailable", "the connection has been closed")
            found = await self._attempt(hook, question, until - loop.time())
            wait = pause * random.uniform(0.5, 1.0)
            if isinstance(found, bytes):
                return found
            is_last = attempt == retries.attempts or loop.time() + wait >= until
            if is_last or found.code().name not in retries.statuses:
                return self._failure(found)
            await asyncio.sleep(wait)
            pause = min(pause * retries.factor, retries.longest)
        raise AssertionError("at least one attempt is made")

    async def _attempt(
        self, hook: Hook, question: bytes, seconds: float
    ) -> bytes | aio.AioRpcError:
        async with self._connection.used() as channel:
            try:
                reply = await channel.unary_unary(wire.method(hook))(question, timeout=seconds)
            except aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    self._miss()
                return error
        self._missed = 0
        return reply

    def _miss(self) -> None:
        self._missed += 1
        if self._missed >= _STUCK and not self._is_closed:
            self._missed, self._connection.is_left = 0, True
            self._connection = _Connection(_channel(self.service))

    def _failure(self, error: aio.AioRpcError) -> Failure:
        code, said = error.code(), error.details() or ""
        seconds, bound = self.service.deadline, _largest(self.service)
        match code:
            case grpc.StatusCode.UNAVAILABLE:
                return failure("Unavailable", said)
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return failure("DeadlineExceeded", f"no answer within {seconds:g} s")
            case grpc.StatusCode.UNIMPLEMENTED:
                return failure("Unimplemented", said)
            case grpc.StatusCode.RESOURCE_EXHAUSTED if "larger than max" in said:
                return failure("TooLarge", f"{said}; the bound here is {bound} bytes")
            case _:
                return failure("Error", f"{code.name}: {said}")


class _Connection:
    """A gRPC channel, which reconnects by itself, until another one replaces it."""

    def __init__(self, channel: aio.Channel) -> None:
        self.channel = channel
        self.is_left = False
        self._open = 0
        self._is_closed = False

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[aio.Channel]:
        """The channel, for one question; the last question closes a channel that was replaced."""
        self._open += 1
        try:
            yield self.channel
        finally:
            self._open -= 1
            if self.is_left and not self._open:
                await self.close()

    async def made(self) -> AsyncIterator[None]:
        """Connects, and yields after each success; ends when the channel is closed."""
        while not self._is_closed:
            state = self.channel.get_state(try_to_connect=True)
            if state is grpc.ChannelConnectivity.READY:
                yield
            if not self._is_closed:
                await self.channel.wait_for_state_change(state)

    async def close(self, seconds: float | None = None) -> None:
        """Closes it when its questions have ended, or after that time."""
        self._is_closed = True
        await self.channel.close(seconds)


def _largest(service: Service) -> int:
    return max(service.max_message_size, service.max_lists_size)


def _channel(service: Service) -> aio.Channel:
    options: list[tuple[str, str | int]] = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.client_idle_timeout_ms", 2**31 - 1),
        ("grpc.initial_reconnect_backoff_ms", _RECONNECT // 5),
        ("grpc.min_reconnect_backoff_ms", _CONNECT),
        ("grpc.max_reconnect_backoff_ms", _RECONNECT),
        ("grpc.dns_min_time_between_resolutions_ms", 1_000),
        ("grpc.max_receive_message_length", _largest(service)),
        ("grpc.max_send_message_length", _largest(service)),
    ]
    if service.tls is None:
        return aio.insecure_channel(service.address, options)
    tls = service.tls
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    proof = grpc.ssl_channel_credentials(tls.authorities, tls.private_key, tls.certificate)
    return aio.secure_channel(service.address, proof, options)
