"""Which files have to be read again, from the kernel's notices and from listing folders.

A notice about a manifest concerns only that file. After a notice that may concern several names
(folders, links to whole trees such as a mounted ConfigMap's `..data`, lost notices) everything is
listed and signatures are compared. How long to wait after each: `schedule`.
"""

import os
import stat
from collections.abc import Iterable, Sequence

from contour.complaints import ManifestSource
from contour.files import inotify, listing, schedule
from contour.files.inotify import EventType
from contour.files.watch import Watch

LOOK_EVERY = 10.0  # for file systems on which the kernel notices nothing
LOOK_EVERY_BLIND = 1.0  # without notices, and while a folder is missing


class Tracker:
    """Knows the files and the version of each that was read last."""

    def __init__(self, roots: Sequence[ManifestSource]) -> None:
        self._roots = roots
        self._folders = frozenset(root for root in roots if os.path.isdir(root))
        self._schedule = schedule.Schedule()
        self._named = frozenset(root for root in roots if os.path.isfile(root))
        self._signatures: dict[ManifestSource, listing.Signature | None] = {}
        self._look_at = 0.0
        self.listing = listing.listed(roots, self._folders)

    def is_disturbed(self, file: ManifestSource) -> bool:
        """Whether the file has changed again since it was due to be read."""
        return self._schedule.is_waiting(file)

    def is_loaded(self, file: ManifestSource, signature: listing.Signature | None) -> None:
        """The file has been read in this version."""
        self._signatures[file] = signature

    def is_lost(self, file: ManifestSource) -> None:
        """The file has been found missing."""
        self._signatures.pop(file, None)

    def is_other_name(self, file: ManifestSource) -> bool:
        """The file is read under another name."""
    def is_unread(self, file: ManifestSource, now: float) -> None:
        """The file is there, but could not be read; it is tried again."""
        self._schedule.note(file, schedule.UNREAD, now)

        return listing.name_of(file, self.listing) not in (None, file)

    def revisit(self, files: Iterable[ManifestSource], now: float) -> None:
        """These are missing, unless they are there again."""
        for file in files:
            self._schedule.note(file, schedule.MISSING, now)

    def take(self, notices: Iterable[inotify.Notice], watch: Watch, now: float) -> None:
        """Turns notices into files that are due, now or later."""
        look = {self._note(notice, now) for notice in notices}
        if schedule.REPLACED in look:
            self._look(schedule.REPLACED, watch, now)
        elif schedule.FOUND in look or now >= self._look_at:
            self._look(schedule.POLLED if watch.is_blind else schedule.FOUND, watch, now)

    def due(self, now: float) -> schedule.Due:
        """The files to read and to release now."""
        return self._schedule.due(now)

    def pause(self, now: float) -> float:
        """Seconds until something is due if nothing happens."""
        next_due = self._schedule.next
        return max(0.0, min(self._look_at, self._look_at if next_due is None else next_due) - now)

    def _note(self, notice: inotify.Notice, now: float) -> schedule.Waits | None:
        """Notes a change of one file, or returns the waits with which everything has to be
        listed."""
        folder, name, event_type = notice
        if event_type in (EventType.FOLDER, EventType.LOST):
            return schedule.FOUND
        path = os.path.join(folder, name)
        if folder == "." and (name in self._signatures or name in self._named):
            path = name
        is_new = event_type in (EventType.CREATED, EventType.PLACED)
        if is_new and _has_other_names(path):
            return schedule.REPLACED
        if path in self.listing.shared and (is_new or event_type is EventType.GONE):
            return schedule.REPLACED if is_new else schedule.FOUND
        file = self._file(folder, name, path)
        if file is not None:
            self._schedule.note(file, _WAITS[event_type], now)
        return None

    def _file(self, folder: str, name: str, path: str) -> ManifestSource | None:
        file = ManifestSource(path)
        if file in self._signatures or file in self._named:
            return file
        if (known := listing.name_of(path, self.listing)) is not None:
            return known
        return file if folder in self.listing.folders and listing.is_manifest(name) else None

    def _look(self, waits: schedule.Waits, watch: Watch, now: float) -> None:
        self._list(watch)
        interval = LOOK_EVERY_BLIND if watch.is_blind or self.listing.faults else LOOK_EVERY
        self._look_at = now + interval
        for file, signature in self.listing.files.items():
            if self._signatures.get(file) != signature:
                self._differs(file, waits, now)
                self._signatures[file] = signature
        gone = waits if waits is schedule.REPLACED else schedule.MISSING
        for file in self._signatures.keys() - self.listing.files.keys():
            if not self.listing.is_faulty(file):
                self._schedule.note(file, gone, now)
                del self._signatures[file]

    def _list(self, watch: Watch) -> None:
        """Lists repeatedly, until all listed folders had been watched before they were listed."""
        watched: list[str] = []
        while True:
            self.listing = listing.listed(self._roots, self._folders)
            if set(self.listing.watched) <= set(watched):
                return
            watched = self.listing.watched
            watch.watch(watched)

    def _differs(self, file: ManifestSource, waits: schedule.Waits, now: float) -> None:
        # If the file waits for a writer to close it, it goes on waiting.
        if waits is not schedule.FOUND or not self._schedule.is_waiting(file):
            self._schedule.note(file, waits, now)


def _has_other_names(path: str) -> bool:
    """A link, also a hard one, to a file that was whole already."""
    try:
        status = os.lstat(path)
        return stat.S_ISLNK(status.st_mode) or status.st_nlink > 1
    except OSError:
        return False


_WAITS = {
    EventType.WRITTEN: schedule.CLOSED,
    EventType.PLACED: schedule.REPLACED,
    EventType.CREATED: schedule.OPEN,
    EventType.MODIFIED: schedule.OPEN,
    EventType.GONE: schedule.MISSING,
}
