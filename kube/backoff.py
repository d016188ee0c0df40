"""How long to wait before the next attempt: longer after each failure, and partly at random.

Without the random half, all clients that lost the same server would come back at the same moment.
"""

import random


def delay(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after so many failures in a row: doubling, and at most `longest`."""
    doubled: float = first * 2 ** min(failures - 1, 30)
    return min(longest, doubled) * random.uniform(0.5, 1.0)


class Backoff:
    """Counts the failures itself."""

    def __init__(self, first: float = 0.2, longest: float = 8.0) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait after another failure; not less than a server has asked for."""
        self._failures += 1
        return max(delay(self._failures, self._first, self._longest), at_least or 0.0)

    def reset(self) -> None:
        """The last attempt has succeeded."""
        self._failures = 0


def jittered(seconds: float) -> float:
    """A period between half as long and half as long again."""
    return seconds * random.uniform(0.5, 1.5)
