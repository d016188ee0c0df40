"""Signals that stop a process of ours, and its exit code.

The first SIGTERM or SIGINT asks for an orderly shutdown, the second one ends the process at once.
A SIGHUP, which comes when the terminal is closed, asks for a shutdown too, unless it is ignored
(`nohup`). The shell and the kernel may both send it, so a second one does not end the process.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from observability import writing

INTERRUPTED = 130
"""The exit code of a process that a second signal ended: 128 and the number of SIGINT."""


def run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a command to its end; one that a second signal ends at once exits with INTERRUPTED."""
    try:
        asyncio.run(main)
    except (asyncio.CancelledError, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    finally:
        writing.drain()  # why the command failed is told after its lines


class Stopped(asyncio.CancelledError):
    """Raised in long work, because the process is to stop."""


class StopSignals:
    """SIGTERM, SIGINT and SIGHUP, for the task that makes this."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        """Set by the first signal; the second one cancels the task."""
        self._main = asyncio.current_task()
        self._has_come = False
        self.handle()

    def handle(self) -> None:
        """Installs the handlers, replacing those of others."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._handle(loop, number, self.stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            self._handle(loop, signal.SIGHUP, self.stopped.set)

    def _handle(
        self, loop: asyncio.AbstractEventLoop, number: signal.Signals, action: Callable[[], None]
    ) -> None:
        loop.add_signal_handler(number, action)
        # The event loop handles it between two of its steps, however long one takes.
        signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self._has_come = True

    def check(self) -> None:
        """For long work between its own steps: raises `Stopped` once a signal has come."""
        if self._has_come:
            raise Stopped

    def stop(self) -> None:
        """Acts as a signal: the first call asks for a shutdown, the second one cancels the task."""
        if self.stopped.is_set() and self._main is not None:
            self._main.cancel()
        self.stopped.set()
