"""A process of a container: when it has ended and how, and what it has written.

What it writes comes through a pipe, as in life, and is kept in a file together with when it came.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time

_PIPE = 1 << 20
_CHUNK = 1 << 16


class Log:
    """What a container has written, over all its restarts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._file.seek(0, os.SEEK_END)
        self._arrived: list[tuple[float, int]] = []  # when, and where it begins

    def write(self, chunk: bytes) -> None:
        """Adds what has just come."""
        self._arrived.append((time(), self._file.tell()))
        self._file.write(chunk)

    def lines(self, moment: float = 0.0) -> list[tuple[float, bytes]]:
        """What came from this moment on, by lines, each with when it began to come."""
        content, found, arrived = self.path.read_bytes(), [], iter([*self._arrived, (0.0, -1)])
        (when, _), (later, border), at = next(arrived, (0.0, 0)), next(arrived, (0.0, -1)), 0
        for line in content.splitlines(keepends=True):
            while -1 < border <= at:
                when, (later, border) = later, next(arrived)
            if when >= moment:
                found.append((when, line))
            at += len(line)
        return found

    def close(self) -> None:
        """The file stays."""
        self._file.close()


class Process:
    """It runs until `ended` is set; then `code` tells how it ended, as a container's would."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Log, owner: int
    ) -> None:
        self.ended = asyncio.Event()
        self.code = 0
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._output, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        fcntl.fcntl(theirs, fcntl.F_SETFL, 0)
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, _PIPE)
        os.fchown(theirs, owner, -1)  # so that it may open /dev/stdout
        try:
            self._popen = subprocess.Popen(
                command, env=dict(environment), stdin=subprocess.DEVNULL,
                stdout=theirs, stderr=theirs, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs)
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._output, self._read)
        self._loop.add_reader(self._pidfd, self._reap)

    @property
    def pid(self) -> int:
        """Of the process itself, not of something that started it."""
        return self._popen.pid

    def signal(self, number: int) -> None:
        """To the container's first process only, as in life."""
        if not self.ended.is_set():
            self._popen.send_signal(number)

    def kill(self) -> None:
        """With everything that it has started."""
        if not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def _read(self) -> None:
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._log.write(chunk)
        else:
            self._loop.remove_reader(self._output)

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        status = self._popen.wait()
        self.code = 128 - status if status < 0 else status
        self.kill()  # what it has left behind in its session
        self._drain()
        self.ended.set()

    def _drain(self) -> None:
        self._loop.remove_reader(self._output)
        while True:
            try:
                chunk = os.read(self._output, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                break
            self._log.write(chunk)
        os.close(self._output)
