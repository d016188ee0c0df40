"""A log file of Envoy, whose size is limited.

Envoy writes to the file itself, not to a pipe: a pipe would fill while this process is paused, and
stop Envoy. Envoy's own `--log-path` buffers lines, which are lost in a crash.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Log:
    """A file and the size above which its older part is dropped."""

    path: Path
    limit: int = 16 << 20

    def opened(self) -> int:
        """A descriptor that always writes at the end, also after the file was truncated."""
        return os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def cut(self) -> None:
        """Above the limit, the newer half moves to `NAME.1` and the file starts anew.

        On a full disk the half is dropped, which frees its space.
        """
        if self.size <= self.limit:
            return
        old = self.path.with_name(f"{self.path.name}.1")
        try:
            old.write_bytes(self._tail(self.limit // 2))
        except OSError:
            old.unlink(missing_ok=True)
        os.truncate(self.path, 0)

    @property
    def size(self) -> int:
        """The size in bytes; zero if there is no file yet."""
        return self.path.stat().st_size if self.path.exists() else 0

    def last_lines(self, count: int, since: int) -> Sequence[str]:
        """The last lines that were written after the file had the size `since`, for people."""
        written = self.size - since if self.size >= since else self.size
        return self._tail(min(written, 16 << 10)).decode(errors="replace").splitlines()[-count:]

    def _tail(self, size: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(max(0, self.size - size))
            return file.read(size)
