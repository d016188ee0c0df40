"""Processes that a test starts, waits for, looks at and ends; each dies with its parent.

A process leaves its log behind, and what waits for it fails with the end of that log.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO

from tests.testbed import forking
from tests.testbed.patience import PATIENCE

ROOT = Path(__file__).parents[2]
_UNLESS_ORPHANED = 'test "$PPID" = "$0" && exec "$@"'
CONTOUR = (sys.executable, "-c", "from contour.cli import main; main()")
_LAST_LINES = 50


@dataclass(slots=True)
class Process:
    """A process that was started."""

    name: str
    popen: subprocess.Popen[bytes] | forking.Forked
    log: Path

    @property
    def pid(self) -> int:
        """The process ID."""
        return self.popen.pid

    @property
    def code(self) -> int | None:
        """Its exit code, or the negative number of a signal; None if it has not ended."""
        return self.popen.poll()

    @property
    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join([f"--- {self.name}", *lines])

    def send(self, number: int) -> None:
        """Sends it a signal."""
        self.popen.send_signal(number)

    def wait(self) -> int:
        """Waits until it has ended; returns its exit code."""
        return self.popen.wait(PATIENCE)

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Asks it to end, and waits until it has; returns the seconds that took."""
        start = monotonic()
        self.send(number)
        self.wait()
        return monotonic() - start

    def kill(self) -> None:
        """Ends it without asking."""
        self.popen.kill()
        self.popen.wait()

    def wait_until(self, is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Waits for something. Raises AssertionError if the process ends before, or it takes too
        long."""
        wait(lambda: self.code is not None or is_so(), f"{self.name} up", seconds, [self])
        assert self.code is None, f"{self.name} has ended:\n{self.last_words}"


def start(
    name: str,
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    where: Path | None = None,
) -> Process:
    """Starts a process whose log is in the folder, and which works there unless told otherwise.

    `CONTOUR` is forked from a process that has imported it.
    """
    log, place = folder / f"{name}.log", where or folder
    program, arguments = tuple(command[: len(CONTOUR)]), command[len(CONTOUR) :]
    with log.open("ab") as output:
        if program == CONTOUR:
            return Process(name, forking.contour(arguments, place, environment, output), log)
        return Process(name, _executed(command, place, environment, output), log)


def _executed(
    command: Sequence[str | Path],
    where: Path,
    environment: Mapping[str, str] | None,
    output: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Executes a program.

    `setpriv` lets it die with its parent: a `preexec_fn` would need a fork, in which the threads of
    gRPC that this process may have are started again, and end the child before it is the command.
    The shell behind it ends at once if the parent died before `setpriv` had asked for that.
    """
    with_parent = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", _UNLESS_ORPHANED, str(os.getpid()))
    return subprocess.Popen(
        (*with_parent, *command), cwd=where, env=environment,
        stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
    )  # fmt: skip


def contour(name: str, folder: Path, *arguments: str, resolver: str = "") -> Process:
    """Starts the product as its users do; with a resolver, it uses this DNS server only."""
    where = resolving(folder, resolver) if resolver else ()
    return start(name, (*where, *CONTOUR, *arguments), folder, where=ROOT)


def resolving(folder: Path, resolver: str) -> tuple[str, ...]:
    """The beginning of a command line: what follows uses this DNS server only; needs root."""
    path = folder / "resolv.conf"
    path.write_text(f"nameserver {resolver}\n")
    program = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", program, str(path))


def called(*arguments: str) -> None:
    """Runs a command of the product that ends by itself and succeeds."""
    with TemporaryFile() as output:
        code = forking.contour(arguments, ROOT, None, output).wait(PATIENCE)
        output.seek(0)
        assert code == 0, output.read().decode(errors="replace")


@contextmanager
def backends(ports: Mapping[str, int], address: str = "127.0.0.1") -> Iterator[dict[str, int]]:
    """Runs the backends of `contour demo` during the block; yields all ports (0 asks for a free
    one)."""
    command = (sys.executable, "-m", "contour.demo.backends", "--address", address)
    named = (f"{name}={port}" for name, port in ports.items())
    with subprocess.Popen((*command, *named), cwd=ROOT, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            yield json.loads(running.stdout.readline())
        finally:
            running.terminate()


def wait(
    condition: Callable[[], object],
    wanted: str,
    seconds: float = PATIENCE,
    processes: Sequence[Process] = (),
) -> float:
    """Polls a condition until it holds; returns the seconds that took. Fails with the logs."""
    start = monotonic()
    while not condition():
        if monotonic() - start > seconds:
            logs = (it.last_words for it in processes)
            raise AssertionError("\n".join([f"never came: {wanted}", *logs]))
        sleep(0.02)
    return monotonic() - start


def settled(value: Callable[[], object], seconds: float = 4.0) -> object:
    """The value once it has not changed for a number of seconds."""
    changed, found = monotonic(), value()
    start = changed
    while monotonic() - changed < seconds:
        assert monotonic() - start < PATIENCE, f"it never settles: {found}"
        sleep(0.1)
        if (now := value()) != found:
            changed, found = monotonic(), now
    return found


def has_ended(pidfd: int, seconds: float) -> bool:
    """Whether a process ends within a number of seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
