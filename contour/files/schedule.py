"""When a changed file is read, and when objects that are no longer in it count as gone.

During a write a file may look shorter, so objects that are missing count as gone only after the
file has been quiet; objects that are present count at once when the writer has closed it. There is
no other delay: the first change is processed at once. Pure: the caller passes the time.

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
"""A writer has it open. Some writers never close it."""
FOUND = Waits(0.05, 0.25)
"""It was found to be new or changed when listing folders."""
POLLED = Waits(1, 3)
"""The same without notices about writers: wait until the file no longer changes."""
UNREAD = Waits(10, 10)
"""It is there and could not be read, perhaps for a moment, as on a network file system."""


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

    def extend(self, file: ManifestSource, waits: Waits, now: float) -> None:
        """Starts both waits anew, unless they end later anyway."""
        for times, wait in zip((self._reads, self._releases), waits, strict=True):
            times[file] = max(times.get(file, 0.0), now + wait)

    def is_waiting(self, file: ManifestSource) -> bool:
        """Whether the file has changed and has not been read since."""
        return file in self._reads

    @property
    def next(self) -> float | None:
        """The time when something is due; None if nothing is."""
        return min((*self._reads.values(), *self._releases.values()), default=None)

    def due(self, now: float) -> Due:
        """Takes out what is due now."""
        return Due(_taken(self._reads, now), _taken(self._releases, now))


def _taken(times: dict[ManifestSource, float], now: float) -> list[ManifestSource]:
    taken = sorted(file for file, time in times.items() if time <= now)
    for file in taken:
        del times[file]
    return taken
