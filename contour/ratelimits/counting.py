"""Counts requests in windows that begin at multiples of their length since 1970 (UTC).

So windows of all services and restarts are the same, as in envoyproxy/ratelimit. The `limits`
package has neither such windows nor, measured, counters in memory whose cost does not grow with
their number (13 µs a hit with one counter, 1.4 ms with 10,000); here a window is one dictionary,
which is dropped as a whole.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)

MOST_COUNTERS = 1_000_000
"""In one window; whoever comes later is not limited in it. Some 200 MB."""


class Hit(NamedTuple):
    """What is to be counted."""

    key: str
    """Who is counted together."""
    seconds: int
    """The length of the window."""
    hits: int


class Counters(Protocol):
    """Where requests are counted."""

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window; the counts afterwards. Raises `OSError`."""
        ...

    async def close(self) -> None:
        """Leaves whatever holds the counters."""


Clock = Callable[[], int]


def clock() -> int:
    """The seconds since 1970."""
    return int(time.time())


class Memory:
    """Counters of this process."""

    def __init__(self, most: int = MOST_COUNTERS) -> None:
        self._most = most
        # By length: the start of the window, and the counts in it.
        self._windows: dict[int, tuple[int, dict[str, int]]] = {}

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window; the counts afterwards."""
        return [self._count(it, now) for it in hits]

    async def close(self) -> None:
        """Nothing is left to be closed."""

    def _count(self, it: Hit, now: int) -> int:
        start, counts = self._window(it.seconds, now)
        count = counts.get(it.key, 0) + it.hits
        if count == it.hits and len(counts) >= self._most:
            if len(counts) == self._most:
                counts[""] = 0  # so that it is logged once
                log.warning(
                    "more than %d counters in the %d s since %d: requests of further clients are "
                    "not limited",
                    *(self._most, it.seconds, start),
                )
            return count
        counts[it.key] = count
        return count

    def _window(self, seconds: int, now: int) -> tuple[int, dict[str, int]]:
        """The present window. A clock that is set back by a little goes on with the one that was
        begun; by more than a window, it was wrong."""
        start, known = now - now % seconds, self._windows.get(seconds)
        if known is None or not start <= known[0] <= start + seconds:
            known = self._windows[seconds] = (start, {})
        return known
