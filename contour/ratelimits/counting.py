"""Counts requests in windows that begin at multiples of their length since 1970 (UTC).

So all services have the same windows, also after a restart, as in envoyproxy/ratelimit. The
`limits` package does not have such windows, and the cost of its memory counters grows with their
number (measured: 13 µs for a hit with one counter, 1.4 ms with 10,000). Here a window is one
dictionary, which is dropped as a whole.
"""

import logging
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)

MOST_COUNTERS = 1_000_000
"""The number of counters in a window, some 100 MB. Above it, a limit that has used its share gets
no more counters, and requests without a counter are not limited. From twice as many on, a limit
only gets its first counter."""


class Hit(NamedTuple):
    """What to count."""

    key: bytes
    """The key of the counter."""
    seconds: int
    """The length of the window."""
    hits: int
    limit: Hashable = None
    """The limit to which it belongs; clients cannot increase the number of limits."""


class Counters(Protocol):
    """Counts requests."""

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each hit in its window. Returns the counts after that. Raises `OSError`."""
        ...

    async def close(self) -> None:
        """Closes connections to the counters."""


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
    """The number of counters of each limit."""
    is_full: bool = False
    """Whether some hits have no counter."""


class Memory:
    """Counters in the memory of this process."""

    def __init__(self, most: int = MOST_COUNTERS) -> None:
        self._most = most
        self._windows: dict[int, _Window] = {}  # by length

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each hit in its window. Returns the counts after that."""
        return [self._count(it, now) for it in hits]

    async def close(self) -> None:
        """Does nothing."""

    def _count(self, it: Hit, now: int) -> int:
        window = self._window(it.seconds, now)
        count = window.counts.get(it.key)
        if count is None and not self._gets_counter(window, it):
            return it.hits
        window.counts[it.key] = count = (count or 0) + it.hits
        return count

    def _gets_counter(self, window: _Window, it: Hit) -> bool:
        """Notes another counter of a limit, if it may have one. The first is always allowed, so a
        limit that counts all requests together works whatever clients do."""
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
        """The present window. If the clock is set back by less than a window, the latest window
        goes on; if by more, the clock was wrong before, and a new window begins."""
        start, known = now - now % seconds, self._windows.get(seconds)
        if known is None or not start <= known.start <= start + seconds:
            known = self._windows[seconds] = _Window(start)
        return known
