"""A follower's end: sends the leader what the Envoys of this replica report.

The leader gets the whole report first, then the changes: one entry for each key, the newest, so a
slow leader costs only delay. It answers with its own status. An annotation of the Lease has the
leader's address; if nobody answers there, or a replica that does not lead, the follower tries again
until the annotation changes. A replica that cannot read the Lease keeps its connection, and once
that ends it tries all replicas that a leader has named, in turn.
"""

import asyncio
import itertools
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import grpc
from grpc import aio

from contour.envoyreports import encoding, report
from contour.envoyreports.report import ReportDelta, Reports
from kube import election

log = logging.getLogger(__name__)

ANNOTATION = "projectcontour.io/xds-address"
"""The annotation of the Lease with `host:port`, where the leader serves xDS and receives
reports."""

_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_retries", 0),
)

Call = aio.StreamStreamCall[bytes, bytes]
Credentials = Callable[[], grpc.ChannelCredentials]


HERE = ""
"""The address while this replica leads itself: it reports to nobody."""


async def addresses(leaders: AsyncIterator[election.Leader | None]) -> AsyncIterator[str | None]:
    """Where to report to: an address, `HERE`, or None while that is not known."""
    async for leader in leaders:
        if leader is None:
            yield None
        else:
            yield HERE if leader.is_self else leader.annotations.get(ANNOTATION)


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds."""

    alive: float = 2.0  # between signs of life
    shortest: float = 0.1  # before the next try
    longest: float = 3.0
    connect: float = 5.0  # until a leader has to have answered
    silence: float = 6.0  # of a leader, which answers every sign of life


@dataclass(slots=True)
class Reporter:
    """Reports to whoever leads."""

    replica: str  # the name of this one
    build: str
    credentials: Credentials | None = None  # called for each connection; None: without TLS
    name: str = "contour"  # what the leader's certificate has to be for
    timings: Timings = field(default_factory=Timings)
    address: str = ""  # where followers reach this replica once it leads
    # Is called with each answer of the leader, and with None when there is no leader.
    on_leader_status: Callable[[encoding.LeaderStatus | None], None] = lambda _: None
    is_reporting: bool = False  # whether a leader receives the reports
    _leader: str | None = None  # where the Lease tells to report to; None: nobody can tell
    _peers: tuple[str, ...] = ()  # one of which leads, if nobody can tell which one
    _fleets: dict[str, Reports] = field(default_factory=dict)
    _deltas: dict[str, ReportDelta] = field(default_factory=dict)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, reports: Reports) -> None:
        """Starts reporting for a fleet."""
        self._fleets[reports.fleet] = reports
        reports.report_to(lambda delta: self._note(reports.fleet, delta))
        self._note(reports.fleet, report.whole(reports.own))

    def remove(self, fleet: str) -> None:
        """Stops reporting for a fleet."""
        if self._fleets.pop(fleet, None) is not None:
            self._note(fleet, ReportDelta(is_whole=True))

    def meet(self, peers: Iterable[str]) -> None:
        """The addresses of other replicas, one of which may lead when nobody can tell which.

        With none, those that were met before are kept: a leader that has just begun hears of its
        followers only when they report to it.
        """
        self._peers = tuple(sorted(set(peers) - {self.address})) or self._peers

    async def follow(self, leaders: AsyncIterator[str | None]) -> None:
        """Reports until cancelled; `leaders` tells where to, and each change of it."""
        async with asyncio.TaskGroup() as tasks:
            reporting: asyncio.Task[None] | None = None
            to: str | None = None  # where that goes, as far as we were told
            async for self._leader in leaders:
                if reporting is not None and self._leader in {None, to}:
                    continue  # stays as before, since nothing else is known
                if reporting is not None:
                    reporting.cancel()
                self._silent()
                to, is_other = self._leader, self._leader != HERE
                reporting = tasks.create_task(self._persist()) if is_other else None

    async def _persist(self) -> None:
        """Tries again, and less often the longer it fails."""
        pause = self.timings.shortest
        for address in self._candidates():
            try:
                if address:
                    await self._connect(address)
            except* (aio.AioRpcError, asyncio.InvalidStateError, OSError, TimeoutError) as errors:
                words = "; ".join(_words(it) for it in errors.exceptions)
                log.info(
                    "cannot report the state of Envoys to the leader at %s: %s", address, words
                )
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # a failure at the same moment had hidden it
            pause = (
                self.timings.shortest if self.is_reporting else min(2 * pause, self.timings.longest)
            )
            self._silent()
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    def _candidates(self) -> Iterator[str]:
        """The addresses to try, for ever: the leader, or, if it is not known, each replica in turn.
        Empty if none is known."""
        for number in itertools.count():
            peers = self._peers or (HERE,)
            yield self._leader or peers[number % len(peers)]

    def _silent(self) -> None:
        """There is no connection to a leader."""
        self.is_reporting = False
        self.on_leader_status(None)

    async def _connect(self, address: str) -> None:
        async with self._channel(address) as channel:
            call = channel.stream_stream(f"/{encoding.SERVICE}/{encoding.METHOD}")()
            async with asyncio.timeout(self.timings.connect):
                await call.write(self._greeting())
                if await call.read() is aio.EOF:
                    raise ConnectionError("it closed the report stream")
            self.is_reporting = True
            self._deltas = {it.fleet: report.whole(it.own) for it in self._fleets.values()}
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

    async def _read(self, call: Call, writing: asyncio.Task[None]) -> None:
        """Reads until the leader ends the call, is silent or sends a malformed message."""
        with suppress(encoding.Malformed, TimeoutError):
            while True:
                async with asyncio.timeout(self.timings.silence):
                    message = await call.read()
                if message is aio.EOF:
                    break
                if (found := encoding.read_leader_status(message)) is not None:
                    self.meet(found.peers)
                    self.on_leader_status(found)
        writing.cancel()

    async def _write(self, call: Call) -> None:
        """Sends the changes, or signs of life."""
        while True:
            self._stirred.clear()
            delta, self._deltas = self._deltas, {}
            for fleet, found in delta.items():
                for message in encoding.messages(fleet, found):
                    await call.write(message)
            if not self._deltas:
                await self._stirring(call)

    async def _stirring(self, call: Call) -> None:
        try:
            async with asyncio.timeout(self.timings.alive):
                await self._stirred.wait()
        except TimeoutError:
            await call.write(encoding.ALIVE)

    def _note(self, fleet: str, delta: ReportDelta) -> None:
        if self.is_reporting:
            known = self._deltas.get(fleet)
            self._deltas[fleet] = known.then(delta) if known else delta
            self._stirred.set()


def _words(error: BaseException) -> str:
    if isinstance(error, aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or "no answer"
