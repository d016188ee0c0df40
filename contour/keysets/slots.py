"""Limits how many requests for key sets are under way at a time.

Key sets that were fetched last time, new ones, and those that failed last time have separate slots,
so servers that do not answer delay only one another, from their second request on. Each origin has
only a few slots, and a request that waits for its origin holds no general slot. Each request ends
within `keysets.LONGEST_FETCH`, and slots are given in the order in which they were requested.

The resolver of the machine may take longer, and a thread that asks it cannot be interrupted. So a
slot is held until its thread has ended, and there are never more threads than slots.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import Enum, auto
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from contour import lookups
from contour.lookups import Address
from dag.references.keysets import Source

AT_ONCE = 32
"""Slots for all requests whose last one ended alike."""
AT_ONCE_OF_ORIGIN = 4
"""Slots for those of them with one scheme, host and port."""

Origin = tuple[str, str | None, int | None]


class LastOutcome(Enum):
    """How the last request for a key set went."""

    NEW = auto()
    FETCHED = auto()
    FAILED = auto()


class Slot:
    """The slot of one request."""

    def __init__(self, *held: asyncio.Semaphore) -> None:
        self._held = held
        self._users = 1
        """The number of its users: the request, and the threads that it has started."""

    async def resolved(self, host: str, family: socket.AddressFamily) -> list[Address]:
        """The addresses of a name, without repetition. Raises OSError, or ValueError for what is
        no name."""
        found = lookups.addresses(host, family, self.leave)
        self._users += 1
        return await found

    def leave(self) -> None:
        """One of its users has ended."""
        self._users -= 1
        if not self._users:
            for it in self._held:
                it.release()


class Slots:
    """The slots of one process."""

    def __init__(self) -> None:
        self._every = {it: asyncio.Semaphore(AT_ONCE) for it in LastOutcome}
        self._of_origins = WeakValueDictionary[tuple[LastOutcome, Origin], asyncio.Semaphore]()
        """An entry exists while a request has one of its slots, or waits for one."""

    @asynccontextmanager
    async def slot(self, source: Source, outcome: LastOutcome) -> AsyncGenerator[Slot]:
        """Waits for a slot, and holds it."""
        fresh = asyncio.Semaphore(AT_ONCE_OF_ORIGIN)
        own = self._of_origins.setdefault((outcome, _origin(source.uri)), fresh)
        every = self._every[outcome]
        await own.acquire()
        try:
            await every.acquire()
        except asyncio.CancelledError:
            own.release()
            raise
        slot = Slot(own, every)
        try:
            yield slot
        finally:
            slot.leave()


def _origin(uri: str) -> Origin:
    parts = urlsplit(uri)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port
