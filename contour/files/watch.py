"""Brings the kernel's notices to the event loop; without them, files are polled.

Notices are read as they arrive, even while nothing waits for them; several about one name are
merged. If inotify is missing or its limits are reached, there are no notices, and files are checked
in intervals instead.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable

from contour.files import inotify

log = logging.getLogger(__name__)


class Watch:
    """Notices for the running event loop; made, waited for and closed in that loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told = asyncio.Event()
        self._lock = threading.Lock()
        self._notices: dict[tuple[str, str], inotify.Notice] = {}
        self._watcher: inotify.Watcher | None = None
        self._failure: OSError | None = None
        try:
            self._watcher = inotify.Watcher()
        except OSError as error:
            self._give_up(error)
        else:
            self._loop.add_reader(self._watcher.fileno(), self._wake)

    @property
    def is_blind(self) -> bool:
        """Whether there are no notices."""
        return self._watcher is None or self._failure is not None

    async def wait(self, seconds: float) -> None:
        """Waits until there are notices, or for so many seconds."""
        if self._failure is not None:
            self._give_up(self._failure)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._told.wait()
        self._told.clear()

    def watch(self, folders: Iterable[str]) -> None:
        """Watches these folders and no others. From any thread."""
        with self._lock:
            try:
                if self._watcher is not None:
                    self._watcher.watch(folders)
            except OSError as error:
                self._failure = error

    def taken(self) -> list[inotify.Notice]:
        """The notices since the last call, the latest for each name. From any thread."""
        with self._lock:
            self._take()
            notices = list(self._notices.values())
            self._notices.clear()
            return notices

    def close(self) -> None:
        """Stops watching."""
        with self._lock:
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            self._loop.remove_reader(watcher.fileno())
            watcher.close()

    def _wake(self) -> None:
        with self._lock:
            self._take()
        self._told.set()

    def _take(self) -> None:
        if self._watcher is not None:
            for notice in self._watcher.notices():
                self._notices[notice.folder, notice.name] = notice

    def _give_up(self, error: OSError) -> None:
        self.close()
        self._failure = None
        log.warning(
            "inotify failed: %s; polling the files every second instead", error.strerror or error
        )
