"""Leader election among the replicas of a program, by a Lease of coordination.k8s.io.

For the controller and the operator: `run(work)` campaigns, runs the work while this process leads,
and frees the Lease on its way out. Whether it leads is decided by the clock before each write, not
by a flag: a process that was paused or cut off finds out by itself. An unreachable API server costs
the leadership and nothing else. The rules are in `kube.lease`.
"""

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from kube import errors, lease
from kube.client import Client
from kube.resources import Resource

log = logging.getLogger(__name__)

LEASES = Resource("coordination.k8s.io", "v1", "leases")
REPEATED_AFTER = 300.0  # seconds after which the same trouble is logged again
RELEASE_TIMEOUT = 2.0  # seconds; a Lease that is not freed is free after its duration

_NO_ANSWER = (errors.RequestError, TimeoutError)

Work = Callable[[], Coroutine[object, object, None]]


class Place(NamedTuple):
    """The namespace and name of the Lease."""

    namespace: str
    name: str


class Leader(NamedTuple):
    """The leader, and the annotations by which it informs the others."""

    identity: str
    annotations: Mapping[str, str]
    is_self: bool


def own_identity() -> str:
    """A name that is unique to this process; after a restart, it has another."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def uptime() -> float:
    """Seconds of a monotonic clock, which counts during sleep if the system has such a one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Elector:
    """One candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        place: Place,
        identity: str = "",
        timing: lease.Timing = lease.KUBERNETES,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._place = place
        self._collection = LEASES.path(place.namespace)
        self._path = LEASES.path(*place)
        told = tuple(sorted((annotations or {}).items()))
        self._candidate = lease.Candidate(identity or own_identity(), timing, told)
        self._is_unsure = True  # the record may not be the one that was seen last
        self._is_claiming = False  # it may be our own claim, whose answer has not come
        self._news = asyncio.Event()
        self._quiet_until = 0.0  # 0: no trouble has been logged

    @property
    def identity(self) -> str:
        """The name of this candidate in the Lease."""
        return self._candidate.identity

    @property
    def write_timeout(self) -> float:
        """The longest that a write may take, in seconds."""
        return self._candidate.timing.write_timeout

    def is_leader(self) -> bool:
        """Whether this process may write now; to be called directly before each write."""
        return self._candidate.is_leader(uptime())

    async def run(self, work: Work) -> None:
        """Campaigns until cancelled; runs the work while it leads; frees the Lease at the end."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._campaign())
                group.create_task(self._serve(work))
        finally:
            await self._release()

    async def leaders(self) -> AsyncIterator[Leader | None]:
        """The leader now, and then after each change; None while no leader is known."""
        told, is_first = None, True
        while True:
            news, found = self._news, self._leader()
            if is_first or found != told:
                told, is_first = found, False
                yield found
            else:
                await news.wait()

    def _leader(self) -> Leader | None:
        found = self._candidate.holder(uptime())
        if found is None:
            return None
        return Leader(found.holder, dict(found.annotations), found.holder == self.identity)

    async def _campaign(self) -> None:
        timing = self._candidate.timing
        while True:
            try:
                async with asyncio.timeout(timing.renew_deadline / 2):
                    await self._step()
                self._complain("")
            except _NO_ANSWER as error:
                self._is_unsure = True
                self._complain(f"{type(error).__name__}: {error}")
            self._announce()
            await asyncio.sleep(timing.retry_period * random.uniform(0.8, 1.0))

    async def _step(self) -> None:
        """Reads the Lease, unless nobody else can have written; takes or renews it if it may."""
        if self._is_unsure or not self.is_leader():
            self._candidate.observe(await self._read(), uptime())
        if self._candidate.may_take(uptime()):
            await self._take()

    async def _read(self) -> lease.Record | None:
        found = await self._client.find(self._path)
        return None if found is None else lease.record(found)

    async def _take(self) -> None:
        self._is_unsure = self._is_claiming = True
        asked_at = uptime()
        claim = self._candidate.claim(_wall_clock())
        body = lease.written(claim, *self._place)
        try:
            if claim.version:
                found = await self._client.replace(self._path, body)
            else:
                found = await self._client.create(self._collection, body)
        except errors.Refused as error:
            if error.code != 409:
                raise
            self._is_claiming = False
            return  # another candidate was faster; the next read shows which
        self._candidate.won(lease.record(found), asked_at, uptime())
        self._is_unsure = self._is_claiming = False

    async def _serve(self, work: Work) -> None:
        """Runs the work in each term of this process."""
        while True:
            while not self.is_leader():
                await self._news.wait()
            log.info("%s is the leader now", self.identity)
            async with asyncio.TaskGroup() as group:
                term = group.create_task(work())
                await self._lost()
                term.cancel()
            log.warning("%s is no longer the leader", self.identity)

    async def _lost(self) -> None:
        """Returns when the last renewal has run out, or somebody else is seen to lead."""
        while self.is_leader():
            news, left = self._news, self._candidate.leads_until - uptime()
            try:
                async with asyncio.timeout(left):
                    await news.wait()
            except TimeoutError:
                continue  # perhaps it was renewed meanwhile
        self._announce()

    def _announce(self) -> None:
        """Wakes everybody who waits for a change."""
        self._news.set()
        self._news = asyncio.Event()

    async def _release(self) -> None:
        freed = self._candidate.resign(_wall_clock())
        self._announce()
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                if self._is_claiming:
                    self._candidate.observe(await self._read(), uptime())
                    freed = self._candidate.resign(_wall_clock())
                if freed is not None:
                    await self._client.replace(self._path, lease.written(freed, *self._place))
        except _NO_ANSWER as error:
            log.warning(
                "cannot release the Lease %s: %s; another replica takes over when it expires",
                self._path,
                error,
            )

    def _complain(self, complaint: str) -> None:
        """Logs a trouble once, even if its message changes, again after a while, and once when it
        is over."""
        if complaint and uptime() >= self._quiet_until:
            log.warning("cannot read or renew the Lease %s: %s", self._path, complaint)
            self._quiet_until = uptime() + REPEATED_AFTER
        elif not complaint and self._quiet_until:
            log.info("can read and renew the Lease %s again", self._path)
            self._quiet_until = 0.0


def _wall_clock() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Unopposed:
    """The elector of a process without competitors: it always leads."""

    write_timeout = lease.KUBERNETES.write_timeout

    def __init__(self, identity: str = "") -> None:
        self.identity = identity or own_identity()

    def is_leader(self) -> bool:
        """Always."""
        return True

    async def run(self, work: Work) -> None:
        """Does the work until it is cancelled."""
        await work()

    async def leaders(self) -> AsyncIterator[Leader | None]:
        """Itself, for ever."""
        yield Leader(self.identity, {}, True)
        await asyncio.Event().wait()
