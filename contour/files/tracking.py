"""Which files have to be read again, from the kernel's notices and from listing folders.

A notice about a manifest concerns only that file. After a notice that may concern several names
(folders, links to whole trees such as a mounted ConfigMap's `..data`, lost notices) everything is
listed and signatures are compared; so it is in intervals, for what the kernel does not notice, such
as what other machines write to a network file system. How long to wait after each: `schedule`.
"""

import os
import stat
import time
from collections.abc import Iterable, Sequence

from contour.complaints import ManifestSource
from contour.files import inotify, listing, schedule
from contour.files.inotify import EventType
from contour.files.watch import Watch

LOOK_EVERY = 10.0  # for file systems on which the kernel notices nothing
LOOK_EVERY_BLIND = 1.0  # without notices, and while a folder is missing or files change unnoticed


class Tracker:
    """Knows the files and the version of each that was read last."""

    def __init__(self, roots: Sequence[ManifestSource]) -> None:
        self._roots = roots
        self._folders = frozenset(root for root in roots if os.path.isdir(root))
        self._named = frozenset(root for root in roots if os.path.isfile(root))
        self._schedule = schedule.Schedule()
        self._signatures: dict[ManifestSource, listing.Signature | None] = {}
        self._look_at = 0.0
        self._changing_until = 0.0  # for files that the kernel notices nothing of
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

    def is_unread(self, file: ManifestSource, now: float) -> None:
        """The file is there, but could not be read; it is tried again."""
        self._schedule.note(file, schedule.UNREAD, now)

    def is_other_name(self, file: ManifestSource) -> bool:
        """The file is read under another name."""
        return listing.name_of(file, self.listing) not in (None, file)

    def revisit(self, files: Iterable[ManifestSource], now: float) -> None:
        """These are missing, unless they are there again."""
        for file in files:
            self._schedule.note(file, schedule.MISSING, now)

    def take(self, notices: Iterable[inotify.Notice], watch: Watch, now: float) -> None:
        """Turns notices into files that are due, now or later."""
        look = {self._note(notice, now) for notice in notices}
        if schedule.REPLACED in look:
            self._look(schedule.REPLACED, watch)
        elif schedule.FOUND in look:
            self._look(schedule.POLLED if watch.is_blind else schedule.FOUND, watch)

    def look(self, watch: Watch, now: float) -> None:
        """Looks for what nobody tells of, if it is time."""
        if now >= self._look_at:
            # The first look is for what was written before anything was watched.
            is_noticed = not self._look_at and not watch.is_blind
            self._look(schedule.FOUND if is_noticed else schedule.POLLED, watch)

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

    def _look(self, waits: schedule.Waits, watch: Watch) -> None:
        self._list(watch)
        now = time.monotonic()  # to list a network file system takes its time
        for file, signature in self.listing.files.items():
            if file not in self._signatures or self._signatures[file] != signature:
                self._differs(file, signature, waits, now)
                self._signatures[file] = signature
        for file in self._signatures.keys() - self.listing.files.keys():
            if not self.listing.is_faulty(file):
                self._is_gone(file, waits, now)
                del self._signatures[file]
        is_changing = now < self._changing_until
        is_often = watch.is_blind or self.listing.faults or is_changing
        self._look_at = now + (LOOK_EVERY_BLIND if is_often else LOOK_EVERY)

    def _list(self, watch: Watch) -> None:
        """Lists repeatedly, until all listed folders had been watched before they were listed."""
        watched: list[str] = []
        while True:
            before = self.listing.devices
            self.listing = listing.listed(self._roots, self._folders, before)
            if set(self.listing.watched) <= set(watched):
                return
            watched = self.listing.watched
            watch.watch(watched)

    def _differs(
        self,
        file: ManifestSource,
        signature: listing.Signature | None,
        waits: schedule.Waits,
        now: float,
    ) -> None:
        """If the file waits for a writer to close it, it goes on waiting, unless it is another."""
        if waits is schedule.POLLED:
            self._schedule.extend(file, waits, now)
            self._expect_more(waits, now)
        elif not self._schedule.is_waiting(file) or (
            waits is schedule.REPLACED and self._is_other(file, signature)
        ):
            self._schedule.note(file, waits, now)

    def _is_other(self, file: ManifestSource, signature: listing.Signature | None) -> bool:
        """Whether there is another file under the name."""
        before = self._signatures.get(file)
        return before is not None and signature is not None and before[:2] != signature[:2]

    def _is_gone(self, file: ManifestSource, waits: schedule.Waits, now: float) -> None:
        """Of what links lead to, everything goes at once; a file may be put back in a moment."""
        if waits is schedule.FOUND or (waits is schedule.REPLACED and not self._is_linked(file)):
            waits = schedule.MISSING
        self._schedule.note(file, waits, now)
        self._expect_more(waits, now)

    def _is_linked(self, file: ManifestSource) -> bool:
        """Whether a link leads to the file or to the folder that the user has named."""
        folders = (it for it in self._folders if file.startswith(os.path.join(it, "")))
        return os.path.islink(file) or any(any(listing.links_to(it)) for it in folders)

    def _expect_more(self, waits: schedule.Waits, now: float) -> None:
        """Until the file is released, changes of which the kernel notices nothing are looked
        for."""
        if waits is schedule.POLLED:
            self._changing_until = now + waits.before_releasing


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
