"""Returns memory to the system that many new streams have needed.

Envoys that reconnect all report their resources and get answers at the same time. The memory for
that is free soon afterwards, but the C library keeps it in the process. So the library is asked to
return it when no new stream has come for a while. That takes milliseconds.
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
    """Watches new streams, and acts when no more have come for a while."""

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
