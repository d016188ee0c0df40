"""Last good states on disk, which a new process cannot find by the content of its questions.

A host that waits for an answer is served as it last was. If the process ends meanwhile, the next
process asks about the host as it is written now, and has no answer to that. So the last good states
of hosts and listeners that wait are stored, and the clusters and Secrets as extensions have
modified them, without private parts. What has not been asked for by the time a process has started
is removed: a later object of that name must not get it.
"""

import logging
import sqlite3
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

from contour import statefile
from contour.extensioncalls import values
from dag.engine.view import Table

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FILE: Final = "extension-states.sqlite"
"""In the state directory of an instance, beside the answers."""
MOST_BYTES: Final = 64 << 20
_SCHEMA = """
CREATE TABLE IF NOT EXISTS states (
    kind TEXT, place BLOB, body BLOB NOT NULL, PRIMARY KEY (kind, place)
) WITHOUT ROWID
"""
_WHAT = "last good states of hosts"
_At: TypeAlias = tuple[str, Hashable]
"""The name of a table, and a key of it."""


class Lasting:
    """The states of one instance. Close it at the end."""

    def __init__(self, path: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        """Without a path nothing is kept."""
        self._path = path
        self._most = most_bytes
        self._file = statefile.opened(path, _SCHEMA, "states", _WHAT) if path else None
        self._sizes: dict[_At, int] = {}
        """Bytes of what is on disk."""
        self._found: dict[_At, bytes] = {}
        """What an earlier process has stored and nobody has asked for yet."""
        self._kept: dict[_At, object] = {}
        self._fresh: dict[_At, object] = {}
        self._gone: set[_At] = set()
        self._read()

    @property
    def is_owed(self) -> bool:
        """Whether there is something to write."""
        return bool(self._fresh or self._gone)

    @property
    def has_left(self) -> bool:
        """Whether an earlier process has stored anything that nobody has asked for yet."""
        return bool(self._found)

    def recall(self, table: Table[K, V], key: K) -> V | None:
        """The row that an earlier process has stored, if any."""
        at = (table.name, key)
        body = self._found.pop(at, None)
        if body is None:
            return None
        try:
            found = cast("V", values.decoded(body))
        except values.UnreadableError:
            self._gone.add(at)
            return None
        self._kept[at] = found
        self._gone.discard(at)
        return found

    def left(self, table: Table[K, V]) -> Iterator[K]:
        """The keys of the rows that an earlier process has stored."""
        return (cast("K", key) for name, key in tuple(self._found) if name == table.name)

    def keep(self, table: Table[K, V], key: K, value: V | None) -> None:
        """Stores a row for the next process; None: removes it."""
        if self._file is None:
            return
        at = (table.name, key)
        if value is None:
            self._fresh.pop(at, None)
            self._kept.pop(at, None)
            if at in self._sizes:
                self._gone.add(at)
        elif self._kept.get(at) is not value:
            self._kept[at] = self._fresh[at] = value
            self._gone.discard(at)

    def begin(self) -> None:
        """The process has started: what nobody has asked for is no longer needed."""
        self._gone.update(self._found)
        self._found.clear()

    def write(self) -> None:
        """Writes new rows, as far as there is room, and deletes removed ones."""
        if self._file is None or not self.is_owed:
            return
        fresh, self._fresh = self._fresh, {}
        gone, self._gone = self._gone, set()
        rows = {at: values.encoded(it) for at, it in fresh.items()}
        for at in (*gone, *fresh):
            self._sizes.pop(at, None)
        rows = self._fitting(rows)
        try:
            with self._file:
                delete = "DELETE FROM states WHERE kind = ? AND place = ?"
                self._file.executemany(delete, [_place(it) for it in (*gone, *fresh)])
                put = "INSERT INTO states VALUES (?, ?, ?)"
                self._file.executemany(put, [(*_place(at), it) for at, it in rows.items()])
        except sqlite3.Error as error:
            self._leave(error)
        self._sizes |= {at: len(it) for at, it in rows.items()}

    def _fitting(self, rows: dict[_At, bytes]) -> dict[_At, bytes]:
        """The rows for which there is room; of the others, an older version is deleted, too."""
        room, found = self._most - sum(self._sizes.values()), dict[_At, bytes]()
        for at, body in rows.items():
            if len(body) <= room:
                found[at] = body
                room -= len(body)
        if len(found) < len(rows):
            log.warning("there is no room in %s for all of the %s", self._path, _WHAT)
        return found

    def close(self) -> None:
        """Writes what is new, and nothing more."""
        self.write()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> None:
        if self._file is None:
            return
        found = self._file.execute("SELECT kind, place, body FROM states")
        for kind, place, body in found.fetchall():
            try:
                self._found[kind, values.decoded(place)] = body
                self._sizes[kind, values.decoded(place)] = len(body)
            except values.UnreadableError:
                self._file.execute("DELETE FROM states WHERE kind = ? AND place = ?", (kind, place))
        self._file.commit()

    def _leave(self, error: sqlite3.Error) -> None:
        log.warning("the %s are not kept in %s: %s", _WHAT, self._path, error)
        if self._file is not None:
            self._file.close()
            self._file = None


def _place(at: _At) -> tuple[str, bytes]:
    kind, key = at
    return kind, values.encoded(key)
