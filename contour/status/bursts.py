"""Bursts of changes, in which serving comes first, and statuses later.

A user who applies ten thousand objects wants them served; each status write takes time of the API
server from the user's writes. So statuses wait until there is a moment without changes, but never
for long. The caller passes the time, of one clock.
"""


class Bursts:
    """Counts changes, and decides how long statuses wait."""

    moment = 0.25
    """Seconds."""
    many = 50
    """The number of changes in a moment above which there is a burst."""
    longest = 12.0
    """Seconds that a burst may hold statuses back."""

    def __init__(self) -> None:
        self._since = self._last = float("-inf")  # of the changes in a row
        self._began: float | None = None
        self._count = 0

    def note(self, changes: int, now: float) -> None:
        """Takes the number of objects that have changed."""
        if now - self._last > self.moment:
            self._began, self._count, self._since = None, 0, now
        elif now - self._since > self.moment:
            self._count, self._since = 0, now
        self._last, self._count = now, self._count + changes
        if self._began is None and self._count > self.many:
            self._began = now

    @property
    def held_until(self) -> float:
        """The time until which statuses wait; in the past if they do not."""
        if self._began is None:
            return float("-inf")
        return min(self._last + self.moment, self._began + self.longest)
