"""Memory that many streams took when they came goes back to the system.

Envoys that come back say what they have of everything, and are answered, all at the same time. What
that takes is free soon afterwards, but the C library keeps it for the process. So it is asked to
give it back, once no stream has come for a while. That takes milliseconds.
"""

import ctypes
import time
from collections.abc import Callable

from contour.xds.fleet import Clock, Later

QUIET = 5.0
"""Seconds without a new stream."""


def give_back() -> None:
    """Does nothing where the C library is not glibc, which alone has this call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Arrivals:
    """New streams, and what is done when they have ceased to come."""

    def __init__(
        self,
        later: Later,
        clock: Clock = time.monotonic,
        ceased: Callable[[], None] = give_back,
    ) -> None:
        self._later, self._clock, self._ceased = later, clock, ceased
        self._last: float | None = None

    def came(self) -> None:
        """A stream has come."""
        if self._last is None:
            self._later(QUIET, self._look)
        self._last = self._clock()

    def _look(self) -> None:
        assert self._last is not None
        if (left := self._last + QUIET - self._clock()) > 0:
            self._later(left, self._look)
            return
        self._last = None
        self._ceased()
