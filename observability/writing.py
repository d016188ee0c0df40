"""Standard error for processes that serve: whoever writes a line never waits for its reader.

A terminal that is held by Ctrl-S and a pipe that nobody reads take no more bytes, and a write
would stop the event loop until they do. So a thread of its own writes. The descriptor stays as it
is, for it is shared with the shell and whatever else the shell has started.
"""

import atexit
import io
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MOST_WAITING = 1024 * 1024  # bytes
_PATIENCE = 0.5  # seconds that the end of the process waits for the reader


def lost_lines(lost: int) -> str:
    """How many lines were lost."""
    return f"{lost} lines were lost: nobody read standard error"


class Unwaiting(io.BufferedIOBase):
    """Writes to a descriptor from a thread, in order; each write is a line.

    A line is taken if nothing waits. Once more waits than `MOST_WAITING`, lines are lost until
    everything that waits is written; how many is said then, in the words of `message`. What the
    descriptor refuses is lost as well.
    """

    name = "<stderr>"

    def __init__(self, descriptor: int, message: Callable[[int], str] = lost_lines) -> None:
        super().__init__()
        self.message = message
        self._descriptor = descriptor
        self._waiting = deque[bytes]()  # the first one is being written
        self._size = self._lost = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether the descriptor leads to a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def write(self, data: "ReadableBuffer", /) -> int:
        """Takes a line, or loses it."""
        line = bytes(data)
        with self._changed:
            is_full = bool(self._lost) or self._size + len(line) > MOST_WAITING
            if self._waiting and is_full:
                self._lost += 1
            else:
                self._add(line)
        return len(line)

    def drain(self, seconds: float = _PATIENCE) -> None:
        """Waits until everything is written, but no longer than that."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)

    def _add(self, line: bytes) -> None:
        self._waiting.append(line)
        self._size += len(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="standard error", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                line = self._waiting[0]
            self._put(line)
            with self._changed:
                self._size -= len(self._waiting.popleft())
                if not self._waiting and self._lost:
                    lost, self._lost = self._lost, 0
                    self._add(f"{self.message(lost)}\n".encode())
                self._changed.notify_all()

    def _put(self, line: bytes) -> None:
        try:
            while line:
                line = line[self._written(line) :]
        except OSError:  # a full disk, a reader that has gone
            return

    def _written(self, line: bytes) -> int:
        """How many bytes were written; none after the wait for a reader, where whoever shares the
        descriptor has made it one that does not block."""
        try:
            return os.write(self._descriptor, line)
        except BlockingIOError:
            writable = select.poll()
            writable.register(self._descriptor, select.POLLOUT)
            writable.poll()
            return 0


_made: dict[int, tuple[Unwaiting, TextIO]] = {}
"""By descriptor."""


def standard_error(message: Callable[[int], str] = lost_lines) -> TextIO | None:
    """Standard error, for whoever must not wait; None if it was closed before the program began.

    Everybody who asks writes through the same thread, so lines keep their order.
    """
    stream = sys.stderr
    try:
        descriptor = stream.fileno()
    except (AttributeError, ValueError, OSError):  # there is none, or it is in memory
        return stream
    if descriptor not in _made:
        raw = Unwaiting(descriptor, message)
        text = io.TextIOWrapper(raw, stream.encoding, "backslashreplace", write_through=True)
        _made[descriptor] = raw, text
        atexit.register(raw.drain)
    return _made[descriptor][1]


def drain() -> None:
    """Before somebody writes to standard error itself: waits a while until it has every line."""
    until = monotonic() + _PATIENCE
    for raw, _ in _made.values():
        raw.drain(max(0.0, until - monotonic()))
