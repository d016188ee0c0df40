"""Last good states on disk, for what a new process cannot find by the content of its questions.

A host that waits stays as it was last served. If the process ends meanwhile, the next one asks
about the host as it is written now, to which there is no answer. So the last good states of what
waits are kept, and what extensions have made of clusters and Secrets, without private parts. What
nobody has asked for when a process has begun is removed: it may be another one's by then.
"""

import logging
import sqlite3
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

from contour import statefile
from contour.asking import values
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
        """What an earlier process has left, and nobody has asked for yet."""
        self._kept: dict[_At, object] = {}
        self._fresh: dict[_At, object] = {}
        self._gone: set[_At] = set()
        self._read()

    @property
    def is_owed(self) -> bool:
        """Whether there is something to be written."""
        return bool(self._fresh or self._gone)

    @property
    def has_left(self) -> bool:
        """Whether an earlier process has left anything that nobody has asked for yet."""
        return bool(self._found)

    def recall(self, table: Table[K, V], key: K) -> V | None:
        """The row that an earlier process has left."""
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
        """The keys of the rows that an earlier process has left."""
        return (cast("K", key) for name, key in tuple(self._found) if name == table.name)

    def keep(self, table: Table[K, V], key: K, value: V | None) -> None:
        """This row is to be found by the next process; None: no row is."""
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
        """The process has begun: what nobody has asked for is not needed any more."""
        self._gone.update(self._found)
        self._found.clear()

    def write(self) -> None:
        """Writes what is new, as far as there is room, and removes what is gone."""
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
        """Those for which there is room; an older version of one of the others goes."""
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
