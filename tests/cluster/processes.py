"""A part of the control plane as a process: dies with its parent, leaves its log behind."""

import ctypes
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_LAST_LINES = 15


class Part(NamedTuple):
    """A process that runs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait_until(self, is_ready: Callable[[], bool], seconds: float = 60.0) -> None:
        """Raises with the end of its log if it ends before, or takes too long."""
        deadline = monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None or monotonic() > deadline:
                lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
                raise RuntimeError("\n".join([f"{self.name} does not come up:", *lines]))
            sleep(0.05)

    def stop(self, seconds: float = 10.0) -> None:
        """Asks it to end, and ends it."""
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends it without asking."""
        self.process.kill()
        self.process.wait()


def start(name: str, command: list[str], folder: Path) -> Part:
    """Starts a part whose log is in the folder."""
    log = folder / f"{name}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, preexec_fn=_die_with_parent,  # noqa: PLW1509  # async-signal-safe
        )  # fmt: skip
    return Part(name, process, log)


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def has_ended(pidfd: int, seconds: float) -> bool:
    """Whether a process ends within so many seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
