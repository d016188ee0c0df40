"""How many requests for key sets are under way at a time.

What was fetched last time, what is new, and what failed last time have slots of their own each, so
however many servers are silent, they delay only one another from their second request on. An
origin has few of them, and who waits for its origin holds none. Each request ends within
`keysets.LONGEST_FETCH`, and slots are given in the order in which they were asked for.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum, auto
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from dag.references.keysets import Source

AT_ONCE = 32
"""Requests of one standing."""
AT_ONCE_OF_ORIGIN = 4
"""Requests of one standing to one scheme, host and port."""

Origin = tuple[str, str | None, int | None]


class Standing(Enum):
    """How the last request for a key set went."""

    NEW = auto()
    FETCHED = auto()
    FAILED = auto()


class Slots:
    """Those of one process."""

    def __init__(self) -> None:
        self._every = {it: asyncio.Semaphore(AT_ONCE) for it in Standing}
        self._of_origins = WeakValueDictionary[tuple[Standing, Origin], asyncio.Semaphore]()
        """While somebody has one of its slots, or waits."""

    @asynccontextmanager
    async def slot(self, source: Source, standing: Standing) -> AsyncIterator[None]:
        """Waits for a slot, and holds it."""
        fresh = asyncio.Semaphore(AT_ONCE_OF_ORIGIN)
        own = self._of_origins.setdefault((standing, _origin(source.uri)), fresh)
        async with own, self._every[standing]:
            yield


def _origin(uri: str) -> Origin:
    parts = urlsplit(uri)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port
