"""The leader's end: takes in what the Envoys of the other replicas say.

A service beside xDS, on its port. Only a certificate of the control plane may call it: with one of
an Envoy, an intruder could write what statuses tell. (Where xDS is served without TLS, whoever
connects is believed, here as there.) What a replica says holds while it is heard,
and for a grace after that, in which it comes back or its Envoys turn up elsewhere. A new leader
knows nothing of the others at first, so what it would tell of `NoResources` is to wait until
`assembled`.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial

import grpc
from grpc import aio

from contour.verdicts import encoding, testimony
from contour.verdicts.merging import Verdicts
from contour.verdicts.testimony import News, Testimony
from contour.xds import authorisation

log = logging.getLogger(__name__)

MOST_REPLICAS = 64

Call = aio.ServicerContext[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds."""

    silence: float = 6.0  # of a replica that says at least every two seconds that it is alive
    grace: float = 5.0  # after it was heard last, until what it said is void
    assembly: float = 3.0  # after we came to lead, until the others have found us


@dataclass(slots=True, eq=False)
class Speaker:
    """One replica that reports to us."""

    said: encoding.Greeting
    reading: asyncio.Task[str] | None = None

    def end(self) -> None:
        """Listens to it no longer."""
        if self.reading is not None:
            self.reading.cancel()


def _nothing() -> encoding.Word:
    """It is not known whether we are current."""
    return encoding.Word("", False, {}, ())


@dataclass(slots=True)
class Reception:
    """Takes in testimony while this replica leads."""

    identities: frozenset[str]  # a certificate of one of these names may speak
    build: str
    patience: Patience = field(default_factory=Patience)
    word: Callable[[], encoding.Word] = _nothing  # what we answer to each sign of life
    speakers: dict[str, Speaker] = field(default_factory=dict)
    _fleets: dict[str, Verdicts] = field(default_factory=dict)
    # Of fleets that we do not have yet: they appear on every replica, not everywhere at once.
    _early: defaultdict[str, dict[str, Testimony]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _voids: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    _assembly: asyncio.TimerHandle | None = None
    _assembled: asyncio.Event = field(default_factory=asyncio.Event)
    _is_leading: bool = False

    def service(self) -> "grpc.GenericRpcHandler[bytes, bytes]":
        """To be served beside xDS: `Server.services`."""
        methods = {encoding.METHOD: grpc.stream_stream_rpc_method_handler(self._report)}
        return grpc.method_handlers_generic_handler(encoding.SERVICE, methods)

    def add(self, verdicts: Verdicts) -> None:
        """Merges what is said of a fleet into these verdicts."""
        self._fleets[verdicts.fleet] = verdicts
        for replica, said in self._early.pop(verdicts.fleet, {}).items():
            verdicts.take(replica, testimony.whole(said))

    def remove(self, fleet: str) -> None:
        """A fleet is no more."""
        self._fleets.pop(fleet, None)

    def lead(self, *, is_alone: bool = False) -> None:
        """Takes in testimony from now on; there is none to wait for where no others are."""
        self._is_leading = True
        loop = asyncio.get_running_loop()
        patience = 0.0 if is_alone else self.patience.assembly
        self._assembly = loop.call_later(patience, self._assembled.set)

    @property
    def is_assembled(self) -> bool:
        """Whether the other replicas have had the time to find their new leader."""
        return self._assembled.is_set()

    def resign(self) -> None:
        """Sends all replicas to the next leader, and forgets what they said."""
        self._is_leading = False
        self._assembled.clear()
        if self._assembly is not None:
            self._assembly.cancel()
        for speaker in self.speakers.values():
            speaker.end()
        for replica in [*self.speakers, *self._voids]:
            self._void(replica)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where those who report to us can be reported to."""
        return tuple(sorted(it.said.address for it in self.speakers.values() if it.said.address))

    async def assembled(self) -> None:
        """Waits until the other replicas have had the time to find their new leader."""
        await self._assembled.wait()

    async def _report(self, requests: AsyncIterator[bytes], call: Call) -> None:
        """The method that replicas call, for as long as they and we live."""
        refusal = self._refusal(call)
        if refusal is not None:
            await call.abort(*refusal)
        try:
            async with asyncio.timeout(self.patience.silence):
                said = encoding.greeted(await anext(requests))
            garbled = await self._converse(said, requests, call)
        except (encoding.Garbled, TimeoutError, StopAsyncIteration) as error:
            garbled = str(error) or "it says nothing"
        if garbled:
            log.warning("ended the report of %s: %s", call.peer(), garbled)
            await call.abort(grpc.StatusCode.INVALID_ARGUMENT, garbled)

    def _refusal(self, call: Call) -> tuple[grpc.StatusCode, str] | None:
        names = authorisation.certificate_names(call.auth_context())
        if names is not None and not names & self.identities:
            log.warning("%s reports with a certificate of %s", call.peer(), sorted(names))
            return grpc.StatusCode.PERMISSION_DENIED, "not a certificate of the control plane"
        if not self._is_leading:
            return grpc.StatusCode.FAILED_PRECONDITION, "this replica does not lead"
        if len(self.speakers) >= MOST_REPLICAS:
            return grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_REPLICAS} replicas report already"
        return None

    async def _converse(
        self, said: encoding.Greeting, requests: AsyncIterator[bytes], call: Call
    ) -> str:
        """Until either side ends it, or what is said makes no sense; then: why not. A replica
        that comes again takes the place it had."""
        if said.replica in self.speakers:
            self.speakers[said.replica].end()
        speaker = self.speakers[said.replica] = Speaker(said)
        self._welcome(said)
        try:
            async with asyncio.TaskGroup() as tasks:
                speaker.reading = reading = tasks.create_task(self._read(said, requests, call))
        finally:
            # Also when gRPC cancels us, as it does when the other side is gone.
            if self.speakers.get(said.replica) is speaker:
                self._lose(said.replica)
        return "" if reading.cancelled() else reading.result()

    async def _read(
        self, said: encoding.Greeting, requests: AsyncIterator[bytes], call: Call
    ) -> str:
        is_comparable, answer = said.build == self.build, encoding.ALIVE
        while True:
            try:
                async with asyncio.timeout(self.patience.silence):
                    await call.write(answer)
                    message = await anext(requests)
                found = encoding.news(message, is_comparable=is_comparable)
            except (TimeoutError, StopAsyncIteration, aio.InternalError):
                return ""  # it has gone, or is as good as gone
            except encoding.Garbled as error:
                return str(error)
            if found is not None:
                self._take(said.replica, *found)
            answer = encoding.word(self.word())

    def _welcome(self, said: encoding.Greeting) -> None:
        void = self._voids.pop(said.replica, None)
        if void is not None:
            void.cancel()
        for fleet in self._fleets.keys() - set(said.fleets):
            self._fleets[fleet].drop(said.replica)

    def _take(self, replica: str, fleet: str, news: News) -> None:
        if fleet in self._fleets:
            self._fleets[fleet].take(replica, news)
            return
        known = self._early[fleet].setdefault(replica, Testimony())
        known.take(news.against(known))

    def _lose(self, replica: str) -> None:
        del self.speakers[replica]
        loop = asyncio.get_running_loop()
        self._voids[replica] = loop.call_later(self.patience.grace, partial(self._void, replica))

    def _void(self, replica: str) -> None:
        """What a replica said holds no longer."""
        self.speakers.pop(replica, None)
        void = self._voids.pop(replica, None)
        if void is not None:
            void.cancel()
        for said in self._early.values():
            said.pop(replica, None)
        for verdicts in self._fleets.values():
            verdicts.drop(replica)
