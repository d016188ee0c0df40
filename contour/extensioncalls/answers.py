"""Replies of extensions on disk, by the content of their questions.

A control plane that starts while an extension is unavailable serves what that extension answered
before. The file contains no secrets: hosts, routes, clusters, and Secrets without their private
parts. A file that cannot be read is replaced by a new one. If it cannot be written, this is logged
once, and only the stored replies are lost.
"""

import logging
import sqlite3
from pathlib import Path
from typing import Final

from contour import statefile
from contour.envoy.hooks.questions import Reply

log = logging.getLogger(__name__)

FILE: Final = "extensions.sqlite"
"""In the state directory of an instance."""
MOST_BYTES: Final = 192 << 20
"""With last good states (`contour.extensioncalls.lasting`) 256 MiB."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    question BLOB PRIMARY KEY, body BLOB, used INTEGER NOT NULL, size INTEGER NOT NULL
) WITHOUT ROWID
"""
_WHAT = "answers of extensions"
_OVERHEAD = 64
"""Bytes of a row beside its body."""


class Answers:
    """The replies that were received. Close it at the end."""

    def __init__(self, path: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        """Without a path, nothing is stored."""
        self._path = path
        self._most = most_bytes
        self._file = statefile.opened(path, _SCHEMA, "answers", _WHAT) if path else None
        self._fresh: dict[bytes, Reply] = {}
        self._used: set[bytes] = set()
        self._turn, self._size = self._counts()

    def get(self, key: bytes) -> Reply | None:
        """The reply to a question, if it is stored."""
        if self._file is None:
            return None
        try:
            found = self._file.execute("SELECT body FROM answers WHERE question = ?", (key,))
            row: tuple[bytes | None] | None = found.fetchone()
        except sqlite3.Error as error:
            self._leave(error)
            return None
        if row is not None:
            self._used.add(key)
        return Reply(row[0]) if row is not None else None

    def put(self, key: bytes, reply: Reply) -> None:
        """Stores a reply; it is written together with the next ones."""
        if self._file is not None:
            self._fresh[key] = reply

    def write(self) -> None:
        """Writes new replies; if there are too many, removes those that have not been used for
        longest."""
        if self._file is None or not (self._fresh or self._used):
            return
        fresh, self._fresh = self._fresh, {}
        used, self._used = self._used, set()
        rows = [(key, it.body, self._turn, _size(it)) for key, it in fresh.items()]
        try:
            with self._file:
                again = "UPDATE answers SET used = ? WHERE question = ?"
                self._file.executemany(again, [(self._turn, it) for it in used])
                self._file.executemany("REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)
                self._size += sum(_size(it) for it in fresh.values())
                if self._size > self._most:
                    self._shorten(self._file)
        except sqlite3.Error as error:
            self._leave(error)

    def close(self) -> None:
        """Writes what is new, and nothing more."""
        self.write()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _shorten(self, file: sqlite3.Connection) -> None:
        _, self._size = self._counts()
        found = file.execute("SELECT question, size FROM answers ORDER BY used").fetchall()
        for key, part in found:
            if self._size <= self._most * 3 // 4:
                break
            file.execute("DELETE FROM answers WHERE question = ?", (key,))
            self._size -= part

    def _counts(self) -> tuple[int, int]:
        """The number of this start, and the number of bytes that are stored."""
        if self._file is None:
            return 0, 0
        asked = "SELECT coalesce(max(used), 0) + 1, coalesce(sum(size), 0) FROM answers"
        found: tuple[int, int] = self._file.execute(asked).fetchone()
        return found

    def _leave(self, error: sqlite3.Error) -> None:
        log.warning("answers of extensions are not kept in %s: %s", self._path, error)
        if self._file is not None:
            self._file.close()
            self._file = None


def _size(reply: Reply) -> int:
    return len(reply.body or b"") + _OVERHEAD
