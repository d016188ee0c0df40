"""The archive: files by name, and a list of what is missing."""

import gzip
import io
import os
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from contour.collecting import redaction

_FOLDER = "contour"
_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


@dataclass(slots=True)
class Archive:
    """What was gathered so far; everything is redacted when it is added."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    missing: list[str] = field(default_factory=list[str])

    def data(self, name: str, found: object) -> None:
        """Adds plain data; notes it as missing if it cannot be written as JSON."""
        try:
            self.files[name] = orjson.dumps(redaction.value(found), default=str, option=_OPTIONS)
        except (TypeError, RecursionError) as error:  # such as half of a surrogate pair
            self.lacks(name, error)

    def log(self, name: str, found: str) -> None:
        """Adds a log."""
        self.files[name] = redaction.log(found).encode()

    def numbers(self, name: str, found: bytes) -> None:
        """Adds metrics as they are."""
        self.files[name] = found

    def lacks(self, what: str, why: object) -> None:
        """Notes what is missing."""
        self.missing.append(redaction.text(f"{what}: {why}"))

    def write(self, path: Path) -> None:
        """Writes a `.tar.gz` that only its owner may read. Raises OSError, also if the file
        exists."""
        files = {**self.files}
        if self.missing:
            text = "".join(f"{it}\n" for it in self.missing)
            files["missing.txt"] = text.encode(errors="backslashreplace")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with (
            open(handle, "wb") as opened,
            gzip.GzipFile(filename="", fileobj=opened, mode="wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for name, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"{_FOLDER}/{name}")
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
