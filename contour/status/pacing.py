"""How soon the status of an object may be written again.

The more writes there are in a row, the longer is the pause after each: a Gateway to which a
thousand routes are added one by one is not written a thousand times. The caller passes the time, in
seconds of one clock.
"""

from typing import NamedTuple

from crds.meta import ObjectRef


class _Rest(NamedTuple):
    until: float
    length: float


class Pacing:
    """The pauses of all objects that were written recently."""

    shortest = 0.25
    longest = 0.75
    """Together with the write itself, the last of many changes is in the status within a second."""

    def __init__(self) -> None:
        self._rests: dict[ObjectRef, _Rest] = {}

    def left(self, subject: ObjectRef, now: float) -> float:
        """Seconds until the next write."""
        rest = self._rests.get(subject)
        return max(0.0, rest.until - now) if rest is not None else 0.0

    def written(self, subject: ObjectRef, now: float) -> float:
        """Notes that an object has been written. Returns the seconds of its pause."""
        before = self._rests.get(subject)
        follows = before is not None and now - before.until < 2 * before.length
        length = min(2 * before.length, self.longest) if before and follows else self.shortest
        return self.postpone(subject, now, length)

    def postpone(self, subject: ObjectRef, now: float, length: float) -> float:
        """Keeps an object from being written for so many seconds, and returns these."""
        self._rests[subject] = _Rest(now + length, length)
        if len(self._rests) > _MOST_RESTS:
            self._rests = {
                it: rest for it, rest in self._rests.items() if now - rest.until < 2 * rest.length
            }
        return length


_MOST_RESTS = 20_000
