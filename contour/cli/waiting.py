"""Shows on a terminal what a command is doing, if it takes long."""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

_PATIENCE = 2.0
"""Seconds before anything is shown."""
_INTERVAL = 1.0
"""Seconds between two looks at the clock."""
_CLEAR = "\r\x1b[K"
"""To the first column, and nothing right of it."""


@contextmanager
def shown(what: str, patience: float = _PATIENCE) -> Generator[None]:
    """While the context lasts, shows a line on standard error with the activity and its duration.

    It disappears at the end, and is not shown if standard error is not a terminal. Nothing else may
    be written to standard error meanwhile.
    """
    stream: TextIO | None = sys.stderr  # None if it was closed before the program began
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_tell, args=(stream, what, patience, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _tell(stream: TextIO, what: str, patience: float, ended: threading.Event) -> None:
    began = time.monotonic()
    if ended.wait(patience):
        return
    with suppress(OSError, ValueError):  # nobody reads it
        while True:
            stream.write(f"{_CLEAR}{what} ... {time.monotonic() - began:.0f} s")
            stream.flush()
            if ended.wait(_INTERVAL):
                stream.write(_CLEAR)
                stream.flush()
                return
