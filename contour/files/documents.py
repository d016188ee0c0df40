"""Splits a file into documents, and tells whether a document has changed.

A line that starts with `---` or `...` at column 0 separates documents wherever it stands, also
inside a block scalar (YAML, "Document Boundary Markers"), so a file is cut without parsing it, and
only documents whose text is new need to be parsed again. What a document means is `parse`.
JSON objects one after another, as `jq '.items[]'` writes them, are documents, too.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_MARKER = re.compile(rb"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_UNSAID = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*(?:[ \t]*(?:#[^\n]*)?\Z)?")
_JSON = re.compile(rb"\s*\{")
_NEXT_JSON = re.compile(rb"\}[ \t\r\n]*\{")
"""Within JSON this stands in strings alone."""
_BLANK = re.compile(r"[ \t\r\n]*")
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
        yield from _objects(line + file.count(b"\n", start, begin), file[begin:end])


def _objects(line: int, raw: bytes) -> Iterator[Text]:
    """Each JSON object by itself; from the first that cannot be read on, everything is one text."""
    if not (_JSON.match(raw) and _NEXT_JSON.search(raw)):
        yield Text(line, raw)
        return
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        yield Text(line, raw)
        return
    begins = [0, *_next_begins(text)]
    for begin, end in pairwise((*begins, len(text))):
        yield Text(line, text[begin:end].encode())
        line += text.count("\n", begin, end)


def _next_begins(text: str) -> Iterator[int]:
    """Where the second JSON object begins, and those after it."""
    decode, begin = json.JSONDecoder().raw_decode, _after_blanks(text, 0)
    while True:
        try:
            _, end = decode(text, begin)
        except (ValueError, RecursionError):
            return
        begin = _after_blanks(text, end)
        if not text.startswith("{", begin):
            return
        yield begin


def _after_blanks(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    return found.end() if found else start
