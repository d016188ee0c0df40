"""When so much changes at once that serving it comes first, and telling of it after.

Who applies ten thousand objects wants them served; each write of a status takes the API server's
time from the writes of the user. So statuses wait until it is quiet for a moment, but never long.
Times are those of one clock, given by the caller.
"""


class Bursts:
    """Counts changes, and says until when to wait."""

    moment = 0.25
    """Seconds."""
    many = 50
    """Changes in a moment. More are a burst."""
    longest = 12.0
    """Seconds that a burst may hold statuses back."""

    def __init__(self) -> None:
        self._since = self._last = float("-inf")  # of the changes that follow one another
        self._began: float | None = None
        self._count = 0

    def note(self, changes: int, now: float) -> None:
        """So many objects have changed."""
        if now - self._last > self.moment:
            self._began, self._count, self._since = None, 0, now
        elif now - self._since > self.moment:
            self._count, self._since = 0, now
        self._last, self._count = now, self._count + changes
        if self._began is None and self._count > self.many:
            self._began = now

    @property
    def held_until(self) -> float:
        """Long ago, if nothing holds statuses back."""
        if self._began is None:
            return float("-inf")
        return min(self._last + self.moment, self._began + self.longest)
