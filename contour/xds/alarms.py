"""Actions that are due later. The caller has the clock and passes the time."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Alarm = Callable[[float], None]


class Alarms:
    """Alarms in the order of their time, then of their setting."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake  # notifies the owner of the clock that `next` may be earlier now
        self._heap: list[tuple[float, int, Alarm]] = []
        self._numbers = count()

    @property
    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def set(self, when: float, alarm: Alarm) -> None:
        heappush(self._heap, (when, next(self._numbers), alarm))
        self._wake()

    def ring(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            heappop(self._heap)[2](now)
