"""Which objects wait for a write of their status, and which of them may have it now.

An object waits once, however often it changed: what is written is asked for when its turn comes.
It is written once at a time, and then rests: the more writes follow one another, the longer, so a
Gateway whose thousand routes come one by one is not written a thousand times. Times are those of
one clock, given by the caller; there is no other state.
"""

import heapq
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from crds.meta import ObjectRef


class _Rest(NamedTuple):
    until: float
    length: float


class Backlog:
    """Objects that wait."""

    shortest_rest = 0.25
    longest_rest = 0.75
    """With the write itself, what is told of the last change is told within a second."""

    def __init__(self) -> None:
        self._ready: deque[ObjectRef] = deque()
        self._later: list[tuple[float, ObjectRef]] = []
        self._waiting: set[ObjectRef] = set()  # in one of the two
        self._busy: set[ObjectRef] = set()
        self._again: set[ObjectRef] = set()  # busy, and changed since
        self._rests: dict[ObjectRef, _Rest] = {}

    def __len__(self) -> int:
        """How many objects wait, or are being written."""
        return len(self._waiting) + len(self._busy)

    def add(self, subjects: Iterable[ObjectRef], now: float) -> None:
        """These may have changed."""
        for it in subjects:
            if it in self._busy:
                self._again.add(it)
            elif it not in self._waiting:
                rest = self._rests.get(it)
                self._put(it, rest.until if rest else now, now)

    def next(self, now: float) -> ObjectRef | None:
        """The one that has waited longest, of those that may be written now: it is busy then."""
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[1])
        if not self._ready:
            return None
        found = self._ready.popleft()
        self._waiting.remove(found)
        self._busy.add(found)
        return found

    def next_time(self) -> float | None:
        """When `next` has one, if nothing is added before."""
        return self._later[0][0] if self._later else None

    def written(self, subject: ObjectRef, now: float) -> None:
        """It has been written, and may rest."""
        before = self._rests.get(subject)
        is_restless = before is not None and now - before.until < 2 * before.length
        length = before.length * 2 if before and is_restless else self.shortest_rest
        length = min(length, self.longest_rest)
        self._rests[subject] = _Rest(now + length, length)
        self._leave(subject, now)
        if len(self._rests) > _MOST_RESTS:
            self._forget_rested(now)

    def settled(self, subject: ObjectRef, now: float) -> None:
        """There was nothing to write."""
        self._leave(subject, now)

    def failed(self, subject: ObjectRef, now: float, pause: float) -> None:
        """It has to be tried again, but not before the pause is over."""
        self._busy.discard(subject)
        self._again.discard(subject)
        self._put(subject, now + pause, now)

    def _leave(self, subject: ObjectRef, now: float) -> None:
        self._busy.discard(subject)
        if subject in self._again:
            self._again.discard(subject)
            self.add([subject], now)

    def _put(self, subject: ObjectRef, due: float, now: float) -> None:
        self._waiting.add(subject)
        if due <= now:
            self._ready.append(subject)
        else:
            heapq.heappush(self._later, (due, subject))

    def _forget_rested(self, now: float) -> None:
        self._rests = {
            it: rest for it, rest in self._rests.items() if now - rest.until < 2 * rest.length
        }


_MOST_RESTS = 20_000
