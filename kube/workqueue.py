"""The work queue of a controller, as client-go has it: keys that are to be reconciled.

A key is in the queue once, however often it is added, and is processed by one worker at a time. A
key in the queue says that something may have changed, not what. A key whose reconciliation fails is
added again after a backoff; one that succeeds is added again after a long while, for changes
without an event, such as certificates that age.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from itertools import count
from math import inf
from typing import Generic, TypeVar

from kube import backoff, errors

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)

WORKERS = 4
BATCH = 0.05  # seconds: changes that come together are reconciled together
RESYNC = 600.0  # seconds
FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 15.0  # seconds
REPEATED_AFTER = 300.0  # seconds after which the same trouble of a key is logged again


class Requeue(errors.RequestError):
    """Raised to reconcile a key again without a failure, because something is waited for."""


def _now() -> float:
    return asyncio.get_running_loop().time()


class WorkQueue(Generic[Key]):
    """A queue of keys, ordered by when they are due."""

    def __init__(self, clock: Callable[[], float] = _now) -> None:
        self._clock = clock
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []  # entries may be out of date
        self._sequence = count()
        self._processing: set[Key] = set()
        self._failures: dict[Key, int] = {}  # in a row
        self._told: dict[Key, tuple[str, float]] = {}  # what was logged, and for how long it counts
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """How many keys wait or are being processed."""
        return len(self._due) + sum(it not in self._due for it in self._processing)

    def add(self, key: Key, delay: float = 0.0) -> None:
        """Makes the key due after so many seconds, or earlier if it already was due earlier."""
        due = self._clock() + delay
        if due < self._due.get(key, inf):
            self._due[key] = due
            if key not in self._processing:
                self._push(key)

    def pop(self) -> Key | None:
        """Takes the key that has been due longest; None if none is due. `done` has to follow."""
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == due and key not in self._processing:
                del self._due[key]
                self._processing.add(key)
                return key
        return None

    async def wait(self) -> None:
        """Returns when `pop`, which has just returned None, may have a key."""
        self._changed.clear()
        left = self._heap[0][0] - self._clock() if self._heap else None
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._changed.wait()

    async def get(self) -> Key:
        """The next key that is due. `done` has to follow."""
        while (found := self.pop()) is None:
            await self.wait()
        return found

    def done(self, key: Key, rest: float = 0.0) -> None:
        """Ends the processing; a key that was added meanwhile is due after the rest, or later."""
        self._processing.discard(key)
        if key in self._due:
            self._due[key] = max(self._due[key], self._clock() + rest)
            self._push(key)

    def retry(self, key: Key) -> float:
        """Adds a key whose reconciliation has failed; the seconds until it is due."""
        delay = backoff.delay(self.fail(key), FIRST_BACKOFF, LONGEST_BACKOFF)
        self.add(key, delay)
        return delay

    def fail(self, key: Key) -> int:
        """Counts a failure; how many there were in a row."""
        self._failures[key] = found = self._failures.get(key, 0) + 1
        return found

    def forget(self, key: Key) -> None:
        """Resets the failures of a key."""
        self._failures.pop(key, None)
        self._told.pop(key, None)

    async def run(self, reconcile: Callable[[Key], Awaitable[bool]]) -> None:
        """Reconciles keys until it is cancelled; `reconcile` says whether to resync the key."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work(reconcile))

    async def _work(self, reconcile: Callable[[Key], Awaitable[bool]]) -> None:
        while True:
            key = await self.get()
            try:
                is_resynced = await reconcile(key)
            except errors.RequestError as error:
                self._tell(key, error, self.retry(key))
            except Exception:  # a bug in one reconciliation must not stop the others
                log.exception("reconciling %s failed", key)
                self.retry(key)
            else:
                self.forget(key)
                if is_resynced:
                    self.add(key, backoff.jittered(RESYNC))
            finally:
                self.done(key)

    def _tell(self, key: Key, error: errors.RequestError, delay: float) -> None:
        """Logs why a key is not finished, but the same only from time to time."""
        said, now = str(error), self._clock()
        before, until = self._told.get(key, ("", -inf))
        level = logging.INFO if isinstance(error, Requeue) else logging.WARNING
        if said == before and now < until:
            level = logging.DEBUG
        else:
            self._told[key] = said, now + REPEATED_AFTER
        text = "cannot finish reconciling %s: %s; retrying in %.1f s"
        log.log(level, text, key, error, delay)

    def _push(self, key: Key) -> None:
        heapq.heappush(self._heap, (self._due[key], next(self._sequence), key))
        self._changed.set()
