"""Revisions of EnvoyConfigs in a file, for `contour run`, so that a restart knows what Envoys have
refused.

In a cluster revisions are objects; here the same documents are rows of a file, each with the result
of the Envoys. They are read before the manifests, and written soon after they change. If the
process is killed before that, Envoys report the result again.
"""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contour import statefile
from contour.discovery import documents
from contour.rawconfig import reading
from crds import decode
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.meta import NamespacedName
from dag import tables
from dag.engine.incremental import Engine
from dag.rawconfig.content import READINGS, Unread
from dag.rawconfig.revisions import HISTORY, Revision

log = logging.getLogger(__name__)

_TABLE = "revisions"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS {_TABLE} (
    namespace TEXT, name TEXT, version TEXT, place INTEGER NOT NULL, taint TEXT NOT NULL,
    is_taken INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (namespace, name, version)
)
"""


_SET = "place = ?, taint = ?, is_taken = ?"
_WHERE = "namespace = ? AND name = ? AND version = ?"


class _Kept(NamedTuple):
    """The fields of a row beside the document."""

    place: int
    """Grows from one revision to a newer one."""
    taint: str
    is_taken: bool


class RevisionFile:
    """The revisions of all EnvoyConfigs. Made where an event loop runs; close it at the end."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._engine = engine
        self._path = path
        self._file = statefile.opened(path, _SCHEMA, _TABLE, "revisions of EnvoyConfigs")
        self._known: dict[NamespacedName, dict[str, _Kept]] = {}
        self._dirty: set[NamespacedName] = set()
        self._fresh: dict[tuple[NamespacedName, str], str] = {}
        self._soon: asyncio.Handle | None = None

    def restore(self) -> None:
        """Writes the rows of the graph; call it before the first EnvoyConfig is read."""
        found: dict[NamespacedName, list[Revision]] = {}
        for key, kept, document in self._rows():
            content = _content(document)
            if content is not None:
                self._known.setdefault(key, {})[content.version] = kept
                of = found.setdefault(key, [])
                of.append(Revision(content, kept.taint, kept.is_taken))
        for key, of in found.items():
            self._engine.write(HISTORY, key, tuple(of))

    def prune(self) -> None:
        """Forgets EnvoyConfigs that were removed while no process ran; call it if all manifests
        could be read."""
        for key in [*self._known]:
            if self._engine.row(READINGS, key) is None:
                self._engine.write(HISTORY, key, None)
                self.note(key)

    def note(self, key: NamespacedName) -> None:
        """The revisions of an EnvoyConfig may have changed."""
        self._dirty.add(key)
        self._draw_up(key)
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_soon(self._write)

    def close(self) -> None:
        """Writes what is not written yet, and nothing more."""
        self._write()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rows(self) -> Iterator[tuple[NamespacedName, _Kept, str]]:
        if self._file is None:
            return
        asked = f"SELECT * FROM {_TABLE} ORDER BY namespace, name, place"
        try:
            rows = self._file.execute(asked).fetchall()
        except sqlite3.Error as error:
            self._leave(error)
            return
        for namespace, name, _, place, taint, is_taken, text in rows:
            yield NamespacedName(namespace, name), _Kept(place, taint, bool(is_taken)), text

    def _write(self) -> None:
        self._soon = None
        dirty, self._dirty = self._dirty, set()
        fresh, self._fresh = self._fresh, {}
        if self._file is None:
            return
        try:
            with self._file:
                for key in dirty:
                    self._bring(self._file, key, fresh)
        except sqlite3.Error as error:
            self._leave(error)

    def _leave(self, error: sqlite3.Error) -> None:
        log.warning("revisions of EnvoyConfigs are not kept in %s: %s", self._path, error)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _bring(
        self,
        file: sqlite3.Connection,
        key: NamespacedName,
        fresh: Mapping[tuple[NamespacedName, str], str],
    ) -> None:
        """Brings the rows of an EnvoyConfig to what the graph says."""
        known, row = self._known.pop(key, {}), self._engine.row(HISTORY, key) or ()
        here = [
            it for it in row if it.content.version in known or (key, it.content.version) in fresh
        ]
        now = _placed(here, known)
        for version in known.keys() - now.keys():
            file.execute(f"DELETE FROM {_TABLE} WHERE {_WHERE}", (*key, version))
        for version, kept in now.items():
            if version not in known:
                values = (*key, version, *kept, fresh[key, version])
                file.execute(f"REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            elif kept != known[version]:
                changed = (*kept, *key, version)
                file.execute(f"UPDATE {_TABLE} SET {_SET} WHERE {_WHERE}", changed)
        if now:
            self._known[key] = now

    def _draw_up(self, key: NamespacedName) -> None:
        """Prepares the object of what is written now, if it is a new version."""
        owner, found = self._engine.row(tables.ENVOY_CONFIGS, key), self._engine.row(READINGS, key)
        if owner is None or found is None or found.version in self._known.get(key, ()):
            return
        if found.content is not None and (key, found.version) not in self._fresh:
            document = documents.document(owner, owner.spec, found.version, 0, {})
            self._fresh[key, found.version] = json.dumps(document)


def _placed(row: Sequence[Revision], known: Mapping[str, _Kept]) -> dict[str, _Kept]:
    """The fields to write for each version; places are kept as far as they are in order."""
    result: dict[str, _Kept] = {}
    last = 0
    for it in row:
        version = it.content.version
        before = known.get(version)
        last = before.place if before is not None and before.place > last else last + 1
        result[version] = _Kept(last, it.taint, it.is_taken)
    return result


def _content(document: str) -> Unread | None:
    """The content of a revision; None if its document is damaged, or this program reads it as
    something else."""
    try:
        found = decode.decode(json.loads(document))
    except ValueError:
        return None
    if isinstance(found, decode.Decoded) and isinstance(found.object, EnvoyConfigRevision):
        return reading.unread(found.object)
    return None
