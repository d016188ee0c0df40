"""A follower's end: tells the leader what the Envoys that hang on this replica say.

The leader is told all of it at first, then what changes: one entry for each thing spoken of, the
newest, so a slow leader costs nothing but delay. Whoever leads is found by an annotation of the
Lease; where nobody answers, or somebody who does not lead, we try again until we are told of
another.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc import aio

from contour.verdicts import encoding, testimony
from contour.verdicts.merging import Verdicts
from contour.verdicts.testimony import News
from kube import election

log = logging.getLogger(__name__)

ANNOTATION = "projectcontour.io/xds-address"
"""Of the Lease: `host:port` where the leader serves xDS, and this."""

_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_retries", 0),
)

_EOF = aio.EOF  # type: ignore[attr-defined]  # the stubs lack it

Credentials = Callable[[], grpc.ChannelCredentials]


async def addresses(leaders: AsyncIterator[election.Leader | None]) -> AsyncIterator[str | None]:
    """Where to report to; None while that is nowhere, or here."""
    async for leader in leaders:
        is_other = leader is not None and not leader.is_self
        yield leader.annotations.get(ANNOTATION) if leader and is_other else None


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds."""

    alive: float = 2.0  # between signs of life
    shortest: float = 0.1  # before the next try
    longest: float = 3.0
    connect: float = 5.0  # until a leader has to have answered


@dataclass(slots=True)
class Reporter:
    """Reports to whoever leads."""

    replica: str  # the name of this one
    build: str
    credentials: Credentials | None = None  # asked for each connection; None: without TLS
    name: str = "contour"  # what the leader's certificate has to be for
    pace: Pace = field(default_factory=Pace)
    is_reporting: bool = False  # whether a leader listens
    _fleets: dict[str, Verdicts] = field(default_factory=dict)
    _news: dict[str, News] = field(default_factory=dict)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, verdicts: Verdicts) -> None:
        """Reports on a fleet, too."""
        self._fleets[verdicts.fleet] = verdicts
        verdicts.tell = lambda news: self._note(verdicts.fleet, news)
        self._note(verdicts.fleet, testimony.whole(verdicts.own))

    def remove(self, fleet: str) -> None:
        """A fleet is no more."""
        if self._fleets.pop(fleet, None) is not None:
            self._note(fleet, News(is_whole=True))

    async def follow(self, leaders: AsyncIterator[str | None]) -> None:
        """Reports until cancelled; `leaders` tells where to, and each change of it."""
        async with asyncio.TaskGroup() as tasks:
            reporting: asyncio.Task[None] | None = None
            async for address in leaders:
                if reporting is not None:
                    reporting.cancel()
                self.is_reporting = False
                reporting = tasks.create_task(self._persist(address)) if address else None

    async def _persist(self, address: str) -> None:
        """Tries again, and less often the longer it fails."""
        pause = self.pace.shortest
        while True:
            try:
                await self._connect(address)
            except* (aio.AioRpcError, asyncio.InvalidStateError, OSError, TimeoutError) as errors:
                words = "; ".join(_words(it) for it in errors.exceptions)
                log.info("cannot report to the leader at %s: %s", address, words)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # which a failure at the same moment had hidden
            pause = self.pace.shortest if self.is_reporting else min(2 * pause, self.pace.longest)
            self.is_reporting = False
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _connect(self, address: str) -> None:
        async with self._channel(address) as channel:
            method = f"/{encoding.SERVICE}/{encoding.METHOD}"
            # The stubs ask for what may be left out.
            untyped: Any = channel
            call = untyped.stream_stream(method)()
            async with asyncio.timeout(self.pace.connect):
                await call.write(self._greeting())
                if await call.read() is _EOF:
                    raise ConnectionError("it ended the report")
            self.is_reporting = True
            self._news = {it.fleet: testimony.whole(it.own) for it in self._fleets.values()}
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(call))
                tasks.create_task(_read(call, writing))

    def _channel(self, address: str) -> aio.Channel:
        if self.credentials is None:
            return aio.insecure_channel(address, options=_OPTIONS)
        options = (*_OPTIONS, ("grpc.ssl_target_name_override", self.name))
        return aio.secure_channel(address, self.credentials(), options=options)

    def _greeting(self) -> bytes:
        return encoding.greeting(encoding.Greeting(self.replica, self.build, tuple(self._fleets)))

    async def _write(self, call: Any) -> None:
        """Sends what there is to say, or at least that we are alive."""
        while True:
            self._stirred.clear()
            news, self._news = self._news, {}
            for fleet, found in news.items():
                for message in encoding.messages(fleet, found):
                    await call.write(message)
            if not self._news:
                await self._stirring(call)

    async def _stirring(self, call: Any) -> None:
        try:
            async with asyncio.timeout(self.pace.alive):
                await self._stirred.wait()
        except TimeoutError:
            await call.write(encoding.ALIVE)

    def _note(self, fleet: str, news: News) -> None:
        if self.is_reporting:
            known = self._news.get(fleet)
            self._news[fleet] = known.then(news) if known else news
            self._stirred.set()


async def _read(call: Any, writing: asyncio.Task[None]) -> None:
    """Until the leader ends it."""
    while await call.read() is not _EOF:
        pass
    writing.cancel()


def _words(error: BaseException) -> str:
    if isinstance(error, aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or "no answer"
