"""The file provider: yields everything once, then the changes.

Each pass runs in a thread: files that are due are read, objects that have left quiet files are
released, and all resulting changes are one batch. `tracking` decides which files are due, `store`
holds their content.
"""

import asyncio
import errno
import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path

from contour.complaints import Locate, ManifestSource
from contour.events import Batch
from contour.files import documents, places, reading, store, tracking
from contour.files.watch import Watch
from crds.meta import ObjectRef
from crds.raw import Raw


class UnreadableInput(Exception):  # noqa: N818 - at fault is what the user gave
    """A path that cannot be read at all; the text begins with it."""


class Manifests:
    """The manifests under some files and folders; `-` is standard input, which is read once.

    Lenient: an object with an unknown field is taken without that field, which is a warning.
    """

    def __init__(self, paths: Sequence[Path], *, lenient: bool = False) -> None:
        named = (reading.STDIN if str(it) == "-" else ManifestSource(str(it)) for it in paths)
        self._roots = list(dict.fromkeys(named))  # a pipe can be read only once
        self._store = store.Store(lenient=lenient)
        self._tracker = tracking.Tracker([])
        self._faults: set[ManifestSource] = set()
        self._kept: set[ManifestSource] = set()  # missing, because a folder above them is missing

    def read(self) -> Batch:
        """All objects and problems. Raises UnreadableInput for a path that cannot be read."""
        self._tracker = tracking.Tracker([it for it in self._roots if it != reading.STDIN])
        for root in self._roots:
            self._require(root)
        for file in self._tracker.listing.files:
            self._load(file, _undisturbed)
        self._tell_faults()
        return self._store.batch()

    def locator(self) -> Locate:
        """Finds the file and line of fields, for one listing."""
        return places.Locator(self._store.definition)

    def originals(self) -> Callable[[ObjectRef], Raw | None]:
        """Finds objects as they are written in their files, for one listing."""
        return places.Originals(self._store.definition)

    async def changes(self) -> AsyncGenerator[Batch, None]:
        """The changes after `read`. While a batch is being processed, the next one is collected."""
        watch = Watch()
        try:
            while True:
                batch = await asyncio.to_thread(self._pass, watch)
                if not batch.is_empty:
                    yield batch
                await watch.wait(self._tracker.pause(time.monotonic()))
        finally:
            watch.close()

    def _require(self, root: ManifestSource) -> None:
        """Checks that the named paths can be read; reads pipes, which can be read only once."""
        try:
            if reading.is_stream(root):
                self._store.write(root, documents.texts(reading.stream(root)))
            elif not os.access(root, os.R_OK):
                raise UnreadableInput(f"{root}: {os.strerror(errno.EACCES)}")
        except OSError as error:
            raise UnreadableInput(f"{root}: {error.strerror}") from None

    def _pass(self, watch: Watch) -> Batch:
        self._take(watch)
        self._tracker.look(watch, time.monotonic())
        self._tell_faults()
        due = self._tracker.due(time.monotonic())
        for file in due.read:
            self._load(file, partial(self._is_disturbed, file, watch))
        for file in due.release:
            if not self._tracker.is_disturbed(file):
                self._release(file)
        return self._store.batch()

    def _take(self, watch: Watch) -> None:
        self._tracker.take(watch.taken(), watch, time.monotonic())
        self._tell_faults()

    def _is_disturbed(self, file: ManifestSource, watch: Watch) -> bool:
        """Whether something happened while the file was read, so that it may have been read half
        written."""
        self._take(watch)
        return self._tracker.is_disturbed(file)

    def _load(self, file: ManifestSource, is_disturbed: Callable[[], bool]) -> None:
        if self._tracker.is_other_name(file):
            self._lose(file)
            return
        try:
            content = reading.content(file)
        except (FileNotFoundError, NotADirectoryError):
            self._lose(file)
        except OSError as error:
            self._store.fault(
                file, f"cannot read the file: {error.strerror}; its last good objects stay"
            )
            self._tracker.is_unread(file, time.monotonic())
        else:
            self._tracker.is_loaded(file, content.signature)
            if not is_disturbed():
                self._store.write(file, documents.texts(content.raw))
                self._store.mend(file)

    def _lose(self, file: ManifestSource) -> None:
        self._tracker.is_lost(file)
        self._store.write(file, ())
        self._store.mend(file)

    def _release(self, file: ManifestSource) -> None:
        if self._tracker.listing.is_faulty(file):
            self._kept.add(file)
        else:
            self._store.release(file)

    def _tell_faults(self) -> None:
        """Reports files that are no manifests, and folders that cannot be listed, or can be listed
        again."""
        listing = self._tracker.listing
        faults = {**listing.faults, **listing.odd}
        for place in faults.keys() - self._faults:
            self._store.fault(place, faults[place])
        for place in self._faults - faults.keys():
            (self._store.heal if place in listing.folders else self._store.mend)(place)
        if self._faults - faults.keys():
            self._tracker.revisit(self._kept, time.monotonic())
            self._kept.clear()
        self._faults = set(faults)


def _undisturbed() -> bool:
    """False for all files: nothing is watched before the first read."""
    return False
