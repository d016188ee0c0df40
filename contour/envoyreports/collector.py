"""The leader's end: receives the reports of the other replicas.

A gRPC service on the xDS port. Only a certificate of the control plane may call it: with that of an
Envoy, an intruder could write statuses. (Where xDS is served without TLS, every client is trusted,
as for xDS itself.) The report of a replica counts while the replica is connected and for a grace
period after that, in which it reconnects or its Envoys connect to other replicas. A new leader has
no reports at first, so statuses that depend on them wait for `assembled`.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial

import grpc
from grpc import aio

from contour.envoyreports import encoding, report
from contour.envoyreports.report import EnvoyReport, ReportDelta, Reports
from contour.xds import authorization
from contour.xds.disconnecting import LAST_WRITE, disconnect

log = logging.getLogger(__name__)

MOST_REPLICAS = 64

Call = aio.ServicerContext[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds."""

    silence: float = 6.0  # of a replica, which sends a sign of life every two seconds
    grace: float = 5.0  # after its last message, until its reports expire
    assembly: float = 3.0  # after we came to lead, for the others to connect


@dataclass(slots=True, eq=False)
class Follower:
    """One replica that reports to us, and what it said first."""

    said: encoding.Greeting
    reading: asyncio.Task[str] | None = None

    def end(self) -> None:
        """Ends its report."""
        if self.reading is not None:
            self.reading.cancel()


def _unknown() -> encoding.LeaderStatus:
    """The status of a leader that does not know whether it is current."""
    return encoding.LeaderStatus("", False, {}, ())


@dataclass(slots=True)
class Collector:
    """Receives reports while this replica leads."""

    identities: frozenset[str]  # a certificate of one of these names may report
    build: str
    timeouts: Timeouts = field(default_factory=Timeouts)
    leader_status: Callable[[], encoding.LeaderStatus] = _unknown  # what we answer
    followers: dict[str, Follower] = field(default_factory=dict)
    _fleets: dict[str, Reports] = field(default_factory=dict)
    # Of fleets that this replica does not have yet: replicas learn of a fleet at different times.
    _early: defaultdict[str, dict[str, EnvoyReport]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _expiries: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    _assembly: asyncio.TimerHandle | None = None
    _assembled: asyncio.Event = field(default_factory=asyncio.Event)
    _is_leading: bool = False

    def service(self) -> grpc.GenericRpcHandler:
        """To be served beside xDS: `Server.services`."""
        methods = {encoding.METHOD: grpc.stream_stream_rpc_method_handler(self._report)}
        return grpc.method_handlers_generic_handler(encoding.SERVICE, methods)

    def add(self, reports: Reports) -> None:
        """Merges what is reported about a fleet into these reports."""
        self._fleets[reports.fleet] = reports
        for replica, said in self._early.pop(reports.fleet, {}).items():
            reports.take(replica, report.whole(said))

    def remove(self, fleet: str) -> None:
        """Stops collecting for a fleet. What replicas report that still have it is kept: they need
        not notice that it was gone if it comes back."""
        reports = self._fleets.pop(fleet, None)
        said = reports.replicas if reports is not None else {}
        if kept := {replica: it.copy() for replica, it in said.items() if it != EnvoyReport()}:
            self._early[fleet].update(kept)

    def lead(self, *, is_alone: bool = False) -> None:
        """Receives reports from now on; an instance of one replica waits for none."""
        self._is_leading = True
        loop = asyncio.get_running_loop()
        patience = 0.0 if is_alone else self.timeouts.assembly
        self._assembly = loop.call_later(patience, self._assembled.set)

    @property
    def is_assembled(self) -> bool:
        """Whether the other replicas have had the time to find their new leader."""
        return self._assembled.is_set()

    def resign(self) -> None:
        """Ends all reports and removes them; the replicas reconnect to the next leader."""
        self._is_leading = False
        self._assembled.clear()
        if self._assembly is not None:
            self._assembly.cancel()
        for follower in self.followers.values():
            follower.end()
        for replica in [*self.followers, *self._expiries]:
            self._expire(replica)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the followers."""
        return tuple(sorted(it.said.address for it in self.followers.values() if it.said.address))

    async def assembled(self) -> None:
        """Waits until the other replicas have had the time to find their new leader."""
        await self._assembled.wait()

    async def _report(self, requests: AsyncIterator[bytes], call: Call) -> None:
        """The method that replicas call, for as long as they and we live."""
        await self._admit(call)
        try:
            async with asyncio.timeout(self.timeouts.silence):
                said = encoding.read_greeting(await anext(requests))
            await self._admit(call)  # the greeting may have taken seconds
            problem = await self._converse(said, requests, call)
        except (encoding.Malformed, TimeoutError, StopAsyncIteration) as error:
            problem = str(error) or "no message in time"
        if problem:
            log.warning("closed the report stream of %s: %s", call.peer(), problem)
            await call.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)

    async def _admit(self, call: Call) -> None:
        """Ends the call unless it may report here now."""
        refusal = self._refusal(call)
        if refusal is not None:
            await call.abort(*refusal)

    def _refusal(self, call: Call) -> tuple[grpc.StatusCode, str] | None:
        names = authorization.certificate_names(call.auth_context())
        if names is not None and not names & self.identities:
            log.warning(
                "refused the report stream of %s: its certificate is for %s, not for a replica",
                call.peer(),
                sorted(names),
            )
            return grpc.StatusCode.PERMISSION_DENIED, "not a certificate of the control plane"
        if not self._is_leading:
            return grpc.StatusCode.FAILED_PRECONDITION, "this replica is not the leader"
        if len(self.followers) >= MOST_REPLICAS:
            return (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"already {MOST_REPLICAS} replicas report here",
            )
        return None

    async def _converse(
        self, said: encoding.Greeting, requests: AsyncIterator[bytes], call: Call
    ) -> str:
        """Runs until either side ends it; returns what is wrong with a message, if anything. A
        replica that connects again replaces its earlier connection."""
        if said.replica in self.followers:
            self.followers[said.replica].end()
        follower = self.followers[said.replica] = Follower(said)
        self._welcome(said)
        try:
            async with asyncio.TaskGroup() as tasks:
                follower.reading = reading = tasks.create_task(self._read(said, requests, call))
        finally:
            # Also when gRPC cancels us, as it does when the other side is gone.
            if self.followers.get(said.replica) is follower:
                self._lose(said.replica)
        return "" if reading.cancelled() else reading.result()

    async def _read(
        self, said: encoding.Greeting, requests: AsyncIterator[bytes], call: Call
    ) -> str:
        is_comparable, answer = said.build == self.build, encoding.ALIVE
        while True:
            try:
                async with asyncio.timeout(self.timeouts.silence):
                    await _write(call, answer)
                    message = await anext(requests)
                found = encoding.read_delta(message, is_comparable=is_comparable)
            except (TimeoutError, StopAsyncIteration, aio.InternalError):
                return ""  # it has gone, or is as good as gone
            except encoding.Malformed as error:
                return str(error)
            if found is not None:
                self._take(said.replica, *found)
            answer = encoding.leader_status(self.leader_status())

    def _welcome(self, said: encoding.Greeting) -> None:
        expiry = self._expiries.pop(said.replica, None)
        if expiry is not None:
            expiry.cancel()
        for fleet in self._fleets.keys() - set(said.fleets):
            self._fleets[fleet].drop(said.replica)
        for fleet in self._early.keys() - set(said.fleets):
            self._forget_early(fleet, said.replica)

    def _take(self, replica: str, fleet: str, delta: ReportDelta) -> None:
        if fleet in self._fleets:
            self._fleets[fleet].take(replica, delta)
            return
        known = self._early[fleet].setdefault(replica, EnvoyReport())
        known.take(delta.against(known))
        if known == EnvoyReport():
            self._forget_early(fleet, replica)

    def _forget_early(self, fleet: str, replica: str) -> None:
        self._early[fleet].pop(replica, None)
        if not self._early[fleet]:
            del self._early[fleet]

    def _lose(self, replica: str) -> None:
        del self.followers[replica]
        loop = asyncio.get_running_loop()
        self._expiries[replica] = loop.call_later(
            self.timeouts.grace, partial(self._expire, replica)
        )

    def _expire(self, replica: str) -> None:
        """Removes what a replica reported."""
        self.followers.pop(replica, None)
        expiry = self._expiries.pop(replica, None)
        if expiry is not None:
            expiry.cancel()
        for fleet in tuple(self._early):
            self._forget_early(fleet, replica)
        for reports in self._fleets.values():
            reports.drop(replica)


async def _write(call: Call, answer: bytes) -> None:
    """Sends an answer completely, also if this is cancelled: gRPC cannot end a call in the middle
    of one, and the replica would wait for ever. One that does not read is disconnected."""
    writing = asyncio.ensure_future(call.write(answer))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        _, unread = await asyncio.wait((writing,), timeout=LAST_WRITE)
        if unread and disconnect((call.peer(),)):
            await asyncio.wait(unread)
        if writing.done():
            writing.exception()  # the replica is gone: nobody has to be told
        raise
