"""The bytes of one file, together with the signature that says which version of it they are."""

import errno
import os
import stat
import sys
import time
from typing import NamedTuple

from contour.complaints import ManifestSource
from contour.files import listing

STDIN = ManifestSource("<stdin>")
MAX_BYTES = 256 << 20

_CLOCK_TICK = 50_000_000
"""Nanoseconds within which a file can change again without a new modification time."""


class Content(NamedTuple):
    """What a file held."""

    raw: bytes
    signature: listing.Signature | None  # None if the file may have changed later with the same one


def content(file: ManifestSource) -> Content:
    """A regular file as it is now. Raises OSError."""
    with open(file, "rb", opener=_opener) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if status.st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"larger than the {MAX_BYTES >> 20} MiB that are read")
        raw = opened.read()
    is_young = abs(time.time_ns() - status.st_mtime_ns) < _CLOCK_TICK
    return Content(raw, None if is_young else listing.signature(status))


def is_stream(file: ManifestSource) -> bool:
    """Whether it is neither a file nor a folder. Raises OSError if it is nothing."""
    if file == STDIN:
        return True
    mode = os.stat(file).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def stream(file: ManifestSource) -> bytes:
    """Standard input, or a pipe that has a name, such as /dev/fd/63. Raises OSError."""
    if file == STDIN:
        if sys.stdin is None:  # closed by whoever started this
            raise OSError(errno.EBADF, "standard input is closed")
        return sys.stdin.buffer.read(MAX_BYTES)
    with open(file, "rb") as pipe:
        return pipe.read(MAX_BYTES)


def _opener(path: str, flags: int) -> int:
    """Opens a file without waiting for a writer, in case it has become a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)
