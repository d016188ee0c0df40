"""Splits a file into documents, and tells whether a document has changed.

A line that starts with `---` or `...` at column 0 always separates documents, even inside a block
scalar (YAML, "Document Boundary Markers"). So a file is split without parsing it, and only
documents with a new text have to be parsed (`parse`).
"""

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKER = re.compile(rb"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_UNSAID = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*(?:[ \t]*(?:#[^\n]*)?\Z)?")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Text(NamedTuple):
    """One document of a file, unparsed."""

    line: int  # of the file, counted from 1, on which the text begins
    raw: bytes

    @property
    def digest(self) -> bytes:
        """A digest of the text, which is kept instead of the text."""
        return hashlib.blake2b(self.raw, digest_size=16).digest()


def texts(file: bytes) -> Iterator[Text]:
    """The documents of a file in order, each from its first line with content."""
    file = file.removeprefix(_BYTE_ORDER_MARK)
    start, line = 0, 1
    for marker in _MARKER.finditer(file):
        yield from _said(file, line, start, marker.start())
        line += file.count(b"\n", start, marker.start())
        start = marker.end()
    yield from _said(file, line, start, len(file))


def _said(file: bytes, line: int, start: int, end: int) -> Iterator[Text]:
    """Skips blank lines, comments and directives at the beginning, which are not part of a
    document."""
    unsaid = _UNSAID.match(file, start, end)
    begin = unsaid.end() if unsaid else start
    if begin < end:
        yield Text(line + file.count(b"\n", start, begin), file[begin:end])
