"""Changes for Envoys take precedence over status writes.

Statuses are written on the event loop that also serves Envoys. At the start of a term thousands may
have to be written, and an edit must not wait for them. So no write begins while a change has been
seen but not yet been sent. The caller passes the time, in seconds of one clock.
"""

from collections.abc import Callable


class Precedence:
    """Decides whether status writes wait."""

    longest = 1.0
    """The longest wait at a time: an Envoy that reads nothing must not stop all statuses."""

    def __init__(self, is_underway: Callable[[], bool]) -> None:
        """`is_underway`: whether a change has been seen and not yet been sent to all Envoys."""
        self._is_underway = is_underway
        self._since: float | None = None  # since when changes are underway

    def holds(self, now: float) -> bool:
        """Whether no write may begin now. After the longest wait, writes go on until all changes
        have been sent."""
        if not self._is_underway():
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since < self.longest
