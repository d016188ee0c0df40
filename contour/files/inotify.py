"""Watches folders with inotify of the Linux kernel.

inotify reports when a writer closes its file and when a rename has put a complete file in place, so
that a manifest is not read while it is half written. Reading never blocks, so the event loop can
call it whenever notices are there. Subfolders are watched only if they are named: the kernel has no
recursive watches. On other systems, and at the limits of inotify, files are polled instead
(`watch`).
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple


class EventType(Enum):
    """What happened to a name in a folder."""

    CREATED = auto()  # empty, or a link
    MODIFIED = auto()  # its writer has not closed it yet
    WRITTEN = auto()  # its writer has closed it
    PLACED = auto()  # renamed to this name
    GONE = auto()  # deleted, or renamed away
    FOLDER = auto()  # the name is a folder's, or the folder itself is meant: look again
    LOST = auto()  # the kernel had more to tell than it could keep: look at everything again


class Notice(NamedTuple):
    """What happened to a name in a folder; the name is empty if the folder itself is meant."""

    folder: str
    name: str
    event_type: EventType


class Watcher:
    """An inotify instance. Raises OSError if the kernel has none to give."""

    def __init__(self) -> None:
        self._fd = _call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, str] = {}

    def fileno(self) -> int:
        """Readable when there are notices."""
        return self._fd

    def watch(self, folders: Iterable[str]) -> None:
        """Watches these folders and no others. Raises OSError where the limit is reached."""
        watched: dict[int, str] = {}
        for folder in folders:
            try:
                watch = _call("inotify_add_watch", self._fd, os.fsencode(folder), _MASK)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue  # The fault is found when the folder is read.
            if watch not in watched:  # the same folder may have two names
                watched[watch] = self._folders[watch] = folder
        for watch in self._folders.keys() - watched.keys():
            _forget(self._fd, watch)
            del self._folders[watch]

    def notices(self) -> Iterator[Notice]:
        """The notices since the last call."""
        while told := _read(self._fd):
            offset = 0
            while offset < len(told):
                watch, mask, _, length = _HEAD.unpack_from(told, offset)
                offset += _HEAD.size + length
                name = told[offset - length : offset].rstrip(b"\0")
                if (event_type := _event_type(mask)) is not None:
                    yield self._notice(watch, os.fsdecode(name), event_type)

    def _notice(self, watch: int, name: str, event_type: EventType) -> Notice:
        """The notice of a kernel event; a folder whose watch began just now may not be known by
        name yet."""
        folder = self._folders.get(watch)
        return (
            Notice("", "", EventType.LOST) if folder is None else Notice(folder, name, event_type)
        )

    def close(self) -> None:
        """Nothing is watched any more."""
        os.close(self._fd)


# linux/inotify.h
_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _IS_FOLDER = 0x1000000, 0x40000000
_MASK = (
    _MODIFY | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
) | _ONLY_FOLDERS
_HEAD = struct.Struct("iIII")
_MOST_BYTES = 1 << 16


def _event_type(mask: int) -> EventType | None:
    if mask & _OVERFLOW:
        return EventType.LOST
    if mask & _IGNORED:
        return None
    if mask & (_IS_FOLDER | _DELETE_SELF | _MOVE_SELF | _UNMOUNT):
        return EventType.FOLDER
    return next(event_type for bit, event_type in _EVENT_TYPES if mask & bit)


_EVENT_TYPES = (
    (_CLOSE_WRITE, EventType.WRITTEN),
    (_MOVED_TO, EventType.PLACED),
    (_MOVED_FROM | _DELETE, EventType.GONE),
    (_CREATE, EventType.CREATED),
    (_MODIFY, EventType.MODIFIED),
)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _MOST_BYTES)
    except BlockingIOError:
        return b""


_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> int:
    try:
        result = int(getattr(_libc, name)(*arguments))
    except AttributeError:
        raise OSError(f"this system has no {name}") from None
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _forget(fd: int, watch: int) -> None:
    """Removes a watch. If the folder is gone, the kernel has already removed it."""
    _libc.inotify_rm_watch(fd, watch)
