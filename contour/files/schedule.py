"""When a file that something has happened to is read, and when what left it counts as gone.

A write in progress looks like a shorter file, so what is missing from a file counts only after the
file has been quiet; what is there counts at once when its writer has closed it. No hold-off
otherwise: the first change goes at once. Pure: whoever asks brings the time.

    truncated   write   write   closed            quiet
    ----|---------|-------|-------|----------------|--->
                                  read           release
"""

from typing import NamedTuple

from contour.complaints import ManifestSource


class Waits(NamedTuple):
    """Seconds from the last thing that happened to a file."""

    before_reading: float
    before_releasing: float


REPLACED = Waits(0, 0)
"""A whole file has been put in place by a rename or a link."""
CLOSED = Waits(0, 0.25)
"""A writer has closed it; another may open it again to write the rest."""
MISSING = Waits(0, 0.25)
"""It is not there; editors put it back in a moment."""
OPEN = Waits(5, 30)
"""A writer is at it and has not closed it. Some never do."""
FOUND = Waits(0.05, 0.25)
"""It is found to be new or different while looking around."""
POLLED = Waits(1, 3)
"""The same where the kernel does not tell of writers: wait until it stays as it is."""


class Due(NamedTuple):
    """What is to be done now, reading first."""

    read: list[ManifestSource]
    release: list[ManifestSource]


class Schedule:
    """The files that something has happened to, until they are released."""

    def __init__(self) -> None:
        self._reads: dict[ManifestSource, float] = {}
        self._releases: dict[ManifestSource, float] = {}

    def note(self, file: ManifestSource, waits: Waits, now: float) -> None:
        """Starts both waits anew."""
        self._reads[file] = now + waits.before_reading
        self._releases[file] = now + waits.before_releasing

    def is_waiting(self, file: ManifestSource) -> bool:
        """Something has happened to the file for which it has not been read."""
        return file in self._reads

    @property
    def next(self) -> float | None:
        """When something is due."""
        return min((*self._reads.values(), *self._releases.values()), default=None)

    def due(self, now: float) -> Due:
        """What is due by now; it is not due again."""
        return Due(_taken(self._reads, now), _taken(self._releases, now))


def _taken(times: dict[ManifestSource, float], now: float) -> list[ManifestSource]:
    taken = sorted(file for file, time in times.items() if time <= now)
    for file in taken:
        del times[file]
    return taken
