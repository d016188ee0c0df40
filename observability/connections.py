"""Limits of the connections to one socket of the pages of a process.

The sockets are open to probes and scrapers, often to the whole cluster. Without limits, a client
that connects again and again and asks for nothing takes all file descriptors of the process, which
then does nothing else any more. A newcomer is never refused, because it may be a probe: instead the
connection ends that has waited longest for a request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from observability import requests

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the clients of one socket may take."""

    connections: int = 256
    idle: float = 75.0
    """Seconds until a request has come, the first one or the next; scrapers that keep their
    connection usually come every minute."""


class Server(web.Server):
    """Answers requests, within the limits."""

    def __init__(self, answer: Answer, limits: Limits) -> None:
        super().__init__(self._answered, keepalive_timeout=limits.idle, logger=requests.log)
        self._answer = answer
        self._most = limits.connections
        # Both are in the order in which the connections end if there are too many.
        self._waiting: dict[web.RequestHandler, asyncio.Transport] = {}
        self._busy: dict[web.RequestHandler, asyncio.Transport] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._waiting) + len(self._busy) >= self._most:
            self._end_one()
        self._waiting[handler] = transport

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        super().connection_lost(handler, exc)
        self._waiting.pop(handler, None)
        self._busy.pop(handler, None)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        """A connection is busy while its answer is made, and waits while that is sent."""
        _move(request.protocol, self._waiting, self._busy)
        try:
            return await self._answer(request)
        finally:
            _move(request.protocol, self._busy, self._waiting)

    def _end_one(self) -> None:
        """Ends a connection at once, whether or not its client reads what was sent."""
        group = self._waiting or self._busy
        group.pop(next(iter(group))).abort()


_Group = dict[web.RequestHandler, asyncio.Transport]


def _move(handler: web.RequestHandler, source: _Group, to: _Group) -> None:
    """Does nothing for a connection that has ended."""
    if (transport := source.pop(handler, None)) is not None:
        to[handler] = transport
