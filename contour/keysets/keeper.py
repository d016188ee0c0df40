"""Fetches the wanted key sets when they are due, and writes the results as rows.

A key set is fetched when it is first wanted, and again after its refresh interval. While that
fails, the last good one stays, and attempts become rarer. Each set has a task of its own, and
`slots` keeps slow servers from delaying others. In a cluster the leader fetches for all replicas;
the others fetch less often, in case the leader cannot write.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from contour.keysets.fetching import FetchError, Request, fetch
from contour.keysets.slots import LastOutcome, Slots
from dag.references.keysets import KeySet, Source, Wanted, noun

log = logging.getLogger(__name__)

Write = Callable[[Source, KeySet | None], None]
"""Takes the present state of a key set; None: it is no longer wanted."""
Fetch = Callable[[Request], Awaitable[str]]

REFRESH = 300.0
"""Seconds after which a key set is fetched again if its source has no interval."""
SHORTEST = 1.0
LONGEST_BACKOFF = 30.0
"""The most seconds between attempts."""
FOLLOWING = 3.0
"""The factor of the interval while another replica fetches for this one."""


class Store(Protocol):
    """Stores the last good key sets, for the next start."""

    def read(self, source: Source) -> str:
        """The stored key set of a wanted source; empty if there is none."""
        ...

    def write(self, source: Source, keys: str) -> None:
        """Stores a key set."""

    def remove(self, source: Source) -> None:
        """Removes a key set that is no longer used."""


def _never() -> bool:
    return False


class Keeper:
    """The key sets of one process."""

    def __init__(
        self,
        write: Write,
        settle: Callable[[], None],
        store: Store | None = None,
        fetch: Fetch = fetch,
    ) -> None:
        self._write = write
        self._settle = settle
        self._store = store
        self._fetch = fetch
        self.follows: Callable[[], bool] = _never
        """Whether another replica fetches for this one (`reread`)."""
        self._wanted: dict[Source, Wanted] = {}
        self._known: dict[Source, KeySet] = {}
        self._failures: dict[Source, int] = {}
        """Failed attempts in a row; no entry for what has not been tried."""
        self._concerned: set[Source] = set()
        self._news = asyncio.Event()
        self._begun = asyncio.Event()
        self._slots = Slots()
        self._settling: asyncio.Handle | None = None

    def note(self, source: Source, how: Wanted | None) -> bool:
        """A key set is wanted, to be fetched in another way, or (None) no longer wanted. Returns
        whether a row was written. It is called while the graph settles."""
        self._failures.pop(source, None)
        self._concerned.add(source)
        self._news.set()
        if how is None:
            return self._forget(source)
        self._wanted[source] = how
        kept = self._store.read(source) if self._store is not None else ""
        if not kept or source in self._known:
            return False
        self._tell(source, KeySet(kept))
        return True

    async def first(self, patience: float) -> None:
        """Fetches every wanted key set once, within `patience` seconds; `run` goes on from
        there."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience), asyncio.TaskGroup() as tasks:
                for source in self._wanted:
                    tasks.create_task(self._attempt(source))
        self._begun.set()

    async def run(self) -> None:
        """Keeps the wanted key sets up to date, for ever; begins when `first` has ended."""
        await self._begun.wait()
        following: dict[Source, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                concerned, self._concerned = self._concerned, set()
                for source in concerned:
                    if (task := following.pop(source, None)) is not None:
                        task.cancel()
                    if source in self._wanted:
                        following[source] = tasks.create_task(self._follow(source))
                await self._news.wait()
                self._news.clear()

    def reread(self, source: Source) -> None:
        """Takes a key set that another replica has stored, and that is newer than ours."""
        keys = self._store.read(source) if self._store is not None else ""
        if source in self._wanted and keys and keys != self._known.get(source, KeySet()).keys:
            self._tell(source, KeySet(keys))
            self._settle_soon()

    def _forget(self, source: Source) -> bool:
        self._wanted.pop(source, None)
        if self._store is not None:
            self._store.remove(source)
        if self._known.pop(source, None) is None:
            return False
        self._write(source, None)
        return True

    async def _follow(self, source: Source) -> None:
        while source in self._wanted:
            if source in self._failures:
                has_keys = bool(self._known.get(source, KeySet()).keys)
                slower = FOLLOWING if has_keys and self.follows() else 1.0
                await asyncio.sleep(slower * _pause(source, self._failures[source]))
            await self._attempt(source)

    async def _attempt(self, source: Source) -> None:
        how: Wanted | None = None
        fault, keys = "", ""
        try:
            async with self._slots.slot(source, self._last_outcome(source)) as slot:
                how = self._wanted.get(source)
                if how is None:
                    return  # it was given up while it waited
                keys = await self._fetch(Request(source, how, slot))
        except FetchError as error:
            fault = str(error)
        except Exception:
            log.exception("cannot fetch the %s of %s", noun(source), source.uri)
            fault = f"the {noun(source)} cannot be fetched, because of an error that the log has"
        if self._wanted.get(source) != how:
            return  # others may certify the server now, or nobody wants the set
        self._failures[source] = self._failures.get(source, 0) + 1 if fault else 0
        self._take(source, keys, fault)

    def _last_outcome(self, source: Source) -> LastOutcome:
        failures = self._failures.get(source)
        if failures is None:
            return LastOutcome.NEW
        return LastOutcome.FAILED if failures else LastOutcome.FETCHED

    def _take(self, source: Source, keys: str, fault: str) -> None:
        before = self._known.get(source, KeySet())
        now = KeySet(keys or before.keys, fault)
        if keys and self._store is not None and keys != self._store.read(source):
            self._store.write(source, keys)
        if now != before:
            self._tell(source, now)
            self._settle_soon()

    def _tell(self, source: Source, found: KeySet) -> None:
        self._known[source] = found
        self._write(source, found)

    def _settle_soon(self) -> None:
        """Settles once for all key sets that arrive together."""
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_soon(self._settle_now)

    def _settle_now(self) -> None:
        self._settling = None
        self._settle()


def _pause(source: Source, failures: int) -> float:
    """Seconds until the next attempt, with jitter, so that replicas that start together do not
    fetch together."""
    usual = max(source.refresh or REFRESH, SHORTEST)
    if failures:
        usual = min(2.0 ** min(failures - 1, 10), LONGEST_BACKOFF, usual)
    return usual * random.uniform(0.9, 1.0)
