"""How the kernel's notices reach the event loop, and what is done where there are none.

Notices are taken as they come, also while nobody waits for them; many about one name are one.
Where inotify is missing or its limits are reached, nothing is told and files are looked at in
intervals instead.
"""

import asyncio
import logging
from collections.abc import Iterable

from contour.files import inotify

log = logging.getLogger(__name__)


class Watch:
    """Notices for the running event loop; close it in the same loop."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self._notices: dict[tuple[str, str], inotify.Notice] = {}
        self._watcher: inotify.Watcher | None = None
        self._failure: OSError | None = None
        self._loop = asyncio.get_running_loop()
        try:
            self._watcher = inotify.Watcher()
        except OSError as error:
            self._give_up(error)
        else:
            self._loop.add_reader(self._watcher.fileno(), self._take)

    @property
    def is_blind(self) -> bool:
        """The kernel tells nothing."""
        return self._watcher is None

    def watch(self, folders: Iterable[str]) -> None:
        """Watches these folders and no others; may be called from another thread."""
        if self._watcher is None:
            return
        try:
            self._watcher.watch(folders)
        except OSError as error:
            self._failure = error

    async def wait(self, seconds: float) -> None:
        """Until there are notices, or for so long."""
        try:
            await asyncio.wait_for(self._told.wait(), seconds)
        except TimeoutError:
            return

    def taken(self) -> list[inotify.Notice]:
        """The notices since last asked, the last of each name."""
        if self._failure is not None:
            self._give_up(self._failure)
        notices = list(self._notices.values())
        self._notices.clear()
        self._told.clear()
        return notices

    def close(self) -> None:
        """Nothing is told any more."""
        if self._watcher is not None:
            self._loop.remove_reader(self._watcher.fileno())
            self._watcher.close()
            self._watcher = None

    def _take(self) -> None:
        if self._watcher is None:
            return
        for notice in self._watcher.notices():
            self._notices[notice.folder, notice.name] = notice
        self._told.set()

    def _give_up(self, error: OSError) -> None:
        self.close()
        self._failure = None
        log.warning("files are looked at every second: inotify says %s", error.strerror or error)
