"""Counts requests in windows that begin at multiples of their length since 1970 (UTC).

So windows of all services and restarts are the same, as in envoyproxy/ratelimit. The `limits`
package has neither such windows nor, measured, counters in memory whose cost does not grow with
their number (13 µs a hit with one counter, 1.4 ms with 10,000); here a window is one dictionary,
which is dropped as a whole.
"""

import logging
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)

MOST_COUNTERS = 1_000_000
"""In one window, some 100 MB. Then a limit that has its share of as many gets no more, and whoever
comes later is not limited by it. When there are twice as many, a limit gets its first one only."""


class Hit(NamedTuple):
    """What is to be counted."""

    key: bytes
    """Who is counted together."""
    seconds: int
    """The length of the window."""
    hits: int
    limit: Hashable = None
    """By which; clients cannot make more of them."""


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


@dataclass(slots=True)
class _Window:
    """The counts since a time."""

    start: int
    counts: dict[bytes, int] = field(default_factory=dict[bytes, int])
    numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Of the counters of each limit."""
    is_full: bool = False
    """Some have no counter."""


class Memory:
    """Counters of this process."""

    def __init__(self, most: int = MOST_COUNTERS) -> None:
        self._most = most
        self._windows: dict[int, _Window] = {}  # by length

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window; the counts afterwards."""
        return [self._count(it, now) for it in hits]

    async def close(self) -> None:
        """Nothing is left to be closed."""

    def _count(self, it: Hit, now: int) -> int:
        window = self._window(it.seconds, now)
        count = window.counts.get(it.key)
        if count is None and not self._gets_counter(window, it):
            return it.hits
        window.counts[it.key] = count = (count or 0) + it.hits
        return count

    def _gets_counter(self, window: _Window, it: Hit) -> bool:
        """Notes another counter of a limit, if it may have one. The first it always may, so a limit
        that counts all requests together holds whatever clients do."""
        number = window.numbers.get(it.limit, 0)
        if number and number >= self._allowed(window):
            if not window.is_full:
                log.warning(
                    "more than %d counters in the %d s since %d: a limit that counts many clients "
                    "apart does not limit further ones: %r",
                    *(self._most, it.seconds, window.start, it.limit),
                )
            window.is_full = True
            return False
        window.numbers[it.limit] = number + 1
        return True

    def _allowed(self, window: _Window) -> int:
        """How many counters each limit may have."""
        number = len(window.counts)
        if number < self._most:
            return self._most
        return self._most // len(window.numbers) if number < 2 * self._most else 1

    def _window(self, seconds: int, now: int) -> _Window:
        """The present window. A clock that is set back by a little goes on with the one that was
        begun; by more than a window, it was wrong."""
        start, known = now - now % seconds, self._windows.get(seconds)
        if known is None or not start <= known.start <= start + seconds:
            known = self._windows[seconds] = _Window(start)
        return known
