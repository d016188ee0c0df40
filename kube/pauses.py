"""How long to wait before the next try: longer each time, never quite as long as others wait.

For whatever asks again after a failure. Without jitter, all who lost the same server would come
back at the same moment.
"""

import random


class Pauses:
    """Doubling from the first to the longest, each half as long or half as long again."""

    def __init__(self, first: float = 0.2, longest: float = 8.0) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait now; not less than a server has asked for."""
        pause = jittered(self._next)
        self._next = min(self._longest, 2 * self._next)
        return max(pause, at_least or 0.0)

    def reset(self) -> None:
        """All is well again."""
        self._next = self._first


def jittered(seconds: float) -> float:
    """Between half as long and half as long again."""
    return seconds * random.uniform(0.5, 1.5)
