"""The last good key sets, in files of this machine, so that a restart does not depend on their
servers."""

import json
import logging
from hashlib import blake2b
from pathlib import Path

from crds.raw import is_mapping
from dag.references import keysets
from dag.references.keysets import Source

log = logging.getLogger(__name__)


class Store:
    """A folder with one file for each key set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, source: Source) -> str:
        """The key set that was written last; empty if there is none that can be read."""
        try:
            found = json.loads(self._file(source).read_bytes())
            if not is_mapping(found):
                return ""
            return keysets.readable(source, str(found["keys"]).encode())
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, KeyError) as error:
            log.warning("the key set of %s that was kept cannot be read: %s", source.uri, error)
            return ""

    def write(self, source: Source, keys: str) -> None:
        """Replaces the file as a whole."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self._file(source)
            new = file.with_suffix(".new")
            new.write_text(json.dumps({"uri": source.uri, "keys": keys}))
            new.replace(file)
        except OSError as error:
            log.warning("the key set of %s cannot be kept: %s", source.uri, error)

    def remove(self, source: Source) -> None:
        """Removes a key set that is no longer used."""
        try:
            self._file(source).unlink(missing_ok=True)
        except OSError as error:
            log.warning("the key set of %s cannot be removed: %s", source.uri, error)

    def _file(self, source: Source) -> Path:
        return self._folder / f"{digest(source)}.json"


def digest(source: Source) -> str:
    """The digest that identifies a source: of how it is fetched."""
    return blake2b(repr(source).encode(), digest_size=16).hexdigest()
