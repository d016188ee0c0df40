"""SQLite files in the state directory of a run: what one process leaves for the next.

A file that cannot be read is replaced by a new one: its content improves a restart, but a start
does not depend on it. Only the owner of the file may read it.
"""

import logging
import sqlite3
from pathlib import Path

log = logging.getLogger(__name__)


def opened(path: Path, schema: str, table: str, what: str) -> sqlite3.Connection | None:
    """Opens the file with this table, or a new one in place of one that cannot be read.

    `what` names its content for messages, in the plural. None, with a warning, if that fails.
    """
    for _ in range(2):
        try:
            return _opened(path, schema, table)
        except (sqlite3.Error, OSError) as error:
            log.warning("%s in %s cannot be read: %s", what, path, error)
        try:
            path.unlink(missing_ok=True)
        except OSError:  # it is somebody else's, or a directory
            break
    return None


def _opened(path: Path, schema: str, table: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    file = sqlite3.connect(path)
    try:
        file.execute("PRAGMA synchronous = OFF")
        file.execute(schema)
        file.execute(f"SELECT count(*) FROM {table}").fetchone()
        _require_whole(file)
    except sqlite3.Error:
        file.close()
        raise
    return file


def _require_whole(file: sqlite3.Connection) -> None:
    """Raises an error of SQLite if a page is damaged, perhaps one that is read later."""
    (found,) = file.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)
