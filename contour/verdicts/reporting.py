"""A follower's end: tells the leader what the Envoys that hang on this replica say.

The leader is told all of it at first, then what changes: one entry for each thing spoken of, the
newest, so a slow leader costs nothing but delay. It answers with what it knows itself. Whoever
leads is found by an annotation of the Lease; where nobody answers, or somebody who does not lead,
we try again until we are told of another. A replica that cannot read the Lease goes on reporting to
whom it reports, and where that ends it asks in turn all replicas that a leader has told it of.
"""

import asyncio
import itertools
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
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


HERE = ""
"""Where to report to while we lead ourselves: nowhere."""


async def addresses(leaders: AsyncIterator[election.Leader | None]) -> AsyncIterator[str | None]:
    """Where to report to: an address, `HERE`, or None while nobody can tell."""
    async for leader in leaders:
        if leader is None:
            yield None
        else:
            yield HERE if leader.is_self else leader.annotations.get(ANNOTATION)


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
    address: str = ""  # where the others can report to us
    hear: Callable[[encoding.Word | None], None] = lambda _: None  # what a leader says; None: none
    is_reporting: bool = False  # whether a leader listens
    _leader: str | None = None  # where the Lease tells to report to; None: nobody can tell
    _peers: tuple[str, ...] = ()  # one of which leads, if nobody can tell which one
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

    def meet(self, peers: Iterable[str]) -> None:
        """The addresses of other replicas, one of which may lead when nobody can tell which."""
        self._peers = tuple(sorted(set(peers) - {self.address}))

    async def follow(self, leaders: AsyncIterator[str | None]) -> None:
        """Reports until cancelled; `leaders` tells where to, and each change of it."""
        async with asyncio.TaskGroup() as tasks:
            reporting: asyncio.Task[None] | None = None
            to: str | None = None  # where that goes, as far as we were told
            async for self._leader in leaders:
                if reporting is not None and self._leader in {None, to}:
                    continue  # as before, for all that can be known
                if reporting is not None:
                    reporting.cancel()
                self._silent()
                to, is_other = self._leader, self._leader != HERE
                reporting = tasks.create_task(self._persist()) if is_other else None

    async def _persist(self) -> None:
        """Tries again, and less often the longer it fails."""
        pause = self.pace.shortest
        for address in self._candidates():
            try:
                if address:
                    await self._connect(address)
            except* (aio.AioRpcError, asyncio.InvalidStateError, OSError, TimeoutError) as errors:
                words = "; ".join(_words(it) for it in errors.exceptions)
                log.info("cannot report to the leader at %s: %s", address, words)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # which a failure at the same moment had hidden
            pause = self.pace.shortest if self.is_reporting else min(2 * pause, self.pace.longest)
            self._silent()
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    def _candidates(self) -> Iterator[str]:
        """Where to try, for ever: the leader; if nobody can tell which one that is, each in turn.
        Empty if we know of nobody."""
        for number in itertools.count():
            peers = self._peers or (HERE,)
            yield self._leader or peers[number % len(peers)]

    def _silent(self) -> None:
        """No leader listens, and none says anything."""
        self.is_reporting = False
        self.hear(None)

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
                tasks.create_task(self._read(call, writing))

    def _channel(self, address: str) -> aio.Channel:
        if self.credentials is None:
            return aio.insecure_channel(address, options=_OPTIONS)
        options = (*_OPTIONS, ("grpc.ssl_target_name_override", self.name))
        return aio.secure_channel(address, self.credentials(), options=options)

    def _greeting(self) -> bytes:
        fleets = tuple(self._fleets)
        return encoding.greeting(encoding.Greeting(self.replica, self.build, fleets, self.address))

    async def _read(self, call: Any, writing: asyncio.Task[None]) -> None:
        """Until the leader ends it, or talks nonsense."""
        with suppress(encoding.Garbled):
            while (message := await call.read()) is not _EOF:
                word = encoding.heard(message)
                if word is not None:
                    self.meet(word.peers)
                    self.hear(word)
        writing.cancel()

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


def _words(error: BaseException) -> str:
    if isinstance(error, aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or "no answer"
