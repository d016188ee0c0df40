"""How soon the status of an object may be written again.

The more writes follow one another, the longer is the rest after each: a Gateway whose thousand
routes come one by one is not written a thousand times. Times are those of one clock, given by the
caller, in seconds.
"""

from typing import NamedTuple

from crds.meta import ObjectRef


class _Rest(NamedTuple):
    until: float
    length: float


class Pacing:
    """The rests of all objects that were written lately."""

    shortest = 0.25
    longest = 0.75
    """With the write itself, the last of many changes is in the status within a second."""

    def __init__(self) -> None:
        self._rests: dict[ObjectRef, _Rest] = {}

    def left(self, subject: ObjectRef, now: float) -> float:
        """Seconds until the next write."""
        rest = self._rests.get(subject)
        return max(0.0, rest.until - now) if rest is not None else 0.0

    def written(self, subject: ObjectRef, now: float) -> float:
        """The object has been written; the seconds of its rest."""
        before = self._rests.get(subject)
        follows = before is not None and now - before.until < 2 * before.length
        length = min(2 * before.length, self.longest) if before and follows else self.shortest
        return self.postpone(subject, now, length)

    def postpone(self, subject: ObjectRef, now: float, length: float) -> float:
        """The object is not written for so many seconds; the same seconds."""
        self._rests[subject] = _Rest(now + length, length)
        if len(self._rests) > _MOST_RESTS:
            self._rests = {
                it: rest for it, rest in self._rests.items() if now - rest.until < 2 * rest.length
            }
        return length


_MOST_RESTS = 20_000
