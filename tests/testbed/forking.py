"""Starts the product by a fork of a process that has imported it.

Imports are most of what a start of the product computes (0.8 s), and tests start it some hundred
times. Here each process of tests has one that imports them once, and is forked for each start: it
runs the same `main` with the same arguments, in a process with its own environment, working
directory and output. What a fork cannot show is shown elsewhere by starts of the interpreter: what
each command imports, the installed program, wheels and images, replicas with other hash seeds.
"""

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Any

ROOT = Path(__file__).parents[2]
_IMPORTED = ("contour.run", "contour.serve", "contour.cli")
_LONGEST = 1 << 17
"""Bytes of a request: arguments and environment."""
_PR_SET_PDEATHSIG = 1


class Forked:
    """A process, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, server: "Server") -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server
        self._pidfd = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit code, or the negative number of a signal; None if it has not ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits a number of seconds until it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            ended = select.poll()
            ended.register(self._pidfd, select.POLLIN)
            if not ended.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("contour", timeout or 0)
            self.returncode = self._server.ask({"ended": self.pid})
            os.close(self._pidfd)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it has not ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """Sends it SIGKILL, if it has not ended."""
        self.send_signal(signal.SIGKILL)


class Server:
    """The process that is forked; it dies with this one, and what it started dies with it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._socket, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, "-m", __name__),
                cwd=ROOT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def ask(self, request: Any, files: Sequence[int] = ()) -> int:
        """Sends a request; returns the answer."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], files)
            answer: int = json.loads(self._socket.recv(_LONGEST))
        return answer


@cache
def _server() -> Server:
    return Server()


def contour(
    arguments: Sequence[str | Path],
    where: Path,
    environment: Mapping[str, str] | None,
    output: IO[bytes],
) -> Forked:
    """Starts the product in a session of its own; its standard input is empty."""
    request = {
        "arguments": [*map(str, arguments)],
        "where": str(where),
        "environment": dict(os.environ if environment is None else environment),
    }
    with open(os.devnull, "rb") as nothing:
        files = (nothing.fileno(), output.fileno(), output.fileno())
        return Forked(_server().ask(request, files), _server())


def _until_forked(control: socket.socket, parent: int) -> None:
    """Answers requests; returns in each process that is to be the product."""
    while True:
        message, files, _, _ = socket.recv_fds(control, _LONGEST, 3)
        if not message:
            os._exit(0)
        request = json.loads(message)
        if not files:
            _, status = os.waitpid(request["ended"], 0)
            answer = os.waitstatus_to_exitcode(status)
        elif answer := os.fork():
            for it in files:
                os.close(it)
        else:
            control.detach()
            _become(request, files, parent)
            return
        control.send(json.dumps(answer).encode())


def _become(request: dict[str, Any], files: Sequence[int], parent: int) -> None:
    """Makes this process what the request says; it is killed when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    os.setsid()
    for number, it in enumerate(files):
        os.dup2(it, number)
        os.close(it)
    os.chdir(request["where"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[1:] = request["arguments"]


def _main() -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    _until_forked(socket.socket(fileno=0), os.getpid())
    importlib.import_module("contour.cli").main(prog_name="contour")


if __name__ == "__main__":
    _main()
