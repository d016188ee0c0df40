"""How soon the status of an object may be written again.

The more writes there are in a row, the longer is the pause after each: a Gateway to which a
thousand routes are added one by one is not written a thousand times. The longest pause is for a
status that another client keeps overwriting: two controllers of one object would otherwise write it
without end. The caller passes the time, in seconds of one clock.
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
    longest_restored = 30.0
    """After a status that others overwrite was restored again and again."""

    def __init__(self) -> None:
        self._rests: dict[ObjectRef, _Rest] = {}

    def left(self, subject: ObjectRef, now: float) -> float:
        """Seconds until the next write."""
        rest = self._rests.get(subject)
        return max(0.0, rest.until - now) if rest is not None else 0.0

    def written(self, subject: ObjectRef, now: float, *, is_restored: bool = False) -> float:
        """Notes that an object has been written; `is_restored`: as it was written before. Returns
        the seconds of its pause."""
        before = self._rests.get(subject)
        follows = before is not None and now - before.until < 2 * before.length
        longest = self.longest_restored if is_restored else self.longest
        length = min(2 * before.length, longest) if before and follows else self.shortest
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
