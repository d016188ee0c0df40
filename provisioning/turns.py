"""Whose turn it is: each key once however often it is woken, and never twice at once.

Level-triggered: a wake-up says that something may have changed, not what. A turn that fails comes
again after a pause that doubles; one that succeeds comes again after a long while, for what no
event tells of, such as certificates that grow old.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from kube import errors, pauses

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)

PARALLEL = 4
GATHER = 0.05  # seconds: what happens at once is looked at once
AGAIN = 600.0
LONGEST_PAUSE = 15.0


class Unfinished(errors.RequestError):
    """Another turn is wanted, though nothing has failed: it was told, or is waited for."""


class Turns(Generic[Key]):
    """Takes turns, in `run`, for keys that may be woken at any time."""

    def __init__(self, take: Callable[[Key], Awaitable[bool]]) -> None:
        """A turn says whether there is anything that another one would look after."""
        self._take = take
        self._due: dict[Key, float] = {}
        self._running: set[Key] = set()
        self._pauses: dict[Key, pauses.Pauses] = {}
        self._news = asyncio.Event()
        self.failures = 0

    def wake(self, key: Key, delay: float = GATHER) -> None:
        """The turn of this one is to come, soon."""
        due = _now() + delay
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            self._news.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                key = await self._next()
                self._running.add(key)
                group.create_task(self._turn(key))

    async def _next(self) -> Key:
        while True:
            self._news.clear()
            waiting = [it for it in self._due if it not in self._running]
            first = min(waiting, key=lambda it: self._due[it], default=None)
            if len(self._running) >= PARALLEL:
                first = None
            left = self._due[first] - _now() if first is not None else None
            if first is not None and left is not None and left <= 0:
                del self._due[first]
                return first
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _turn(self, key: Key) -> None:
        try:
            is_there = await self._take(key)
        except errors.RequestError as error:
            self._failed(key, error)
        except Exception:  # a fault of ours in one is not to stop the others
            log.exception("reconciling %s failed", key)
            self._failed(key, None)
        else:
            self._pauses.pop(key, None)
            if is_there:
                self.wake(key, pauses.jittered(AGAIN))
        finally:
            self._running.discard(key)
            self._news.set()

    def _failed(self, key: Key, error: errors.RequestError | None) -> None:
        self.failures += 1
        pause = self._pauses.setdefault(key, pauses.Pauses(0.5, LONGEST_PAUSE)).next()
        level = logging.INFO if isinstance(error, Unfinished) else logging.WARNING
        if error is not None:
            log.log(
                level, "cannot finish reconciling %s: %s; retrying in %.1f s", key, error, pause
            )
        self.wake(key, pause)


def _now() -> float:
    return asyncio.get_running_loop().time()
