"""Finds the file and line of a field of an object, for later messages about it.

Texts of documents are not kept. They are read again when a place is needed. If the text has
changed, the place is the line where the document began, instead of the line of the field.
"""

import re
from collections.abc import Callable, Mapping

from contour.complaints import ManifestSource, Place, shown
from contour.files import claims, documents, lines, parse, reading
from contour.files.contents import FieldPath
from crds.meta import ObjectRef
from crds.raw import Raw, is_list, is_mapping

MOST = 200
"""The number of fields that one locator looks up, since each needs parsing a document. Further
fields get the line of their document."""


Define = Callable[[ObjectRef], claims.Definition | None]
"""The document that owns an object; None if there is none."""


class _Texts:
    """The documents of files, each of which is read once."""

    def __init__(self) -> None:
        self._by_file: dict[ManifestSource, Mapping[bytes, bytes]] = {}

    def of(self, definition: claims.Definition) -> bytes | None:
        """The document, if the file still has it."""
        file = definition.file
        if file not in self._by_file:
            self._by_file[file] = _by_digest(file)
        return self._by_file[file].get(definition.document.digest)


class Originals:
    """Finds objects as they are written in their files. Make one for each listing."""

    def __init__(self, definition: Define) -> None:
        self._definition = definition
        self._texts = _Texts()
        self._lists: dict[bytes, object] = {}  # the values of lists, by digest

    def __call__(self, subject: ObjectRef) -> Raw | None:
        """None if no file has the object (any more), or it came from standard input."""
        definition = self._definition(subject)
        raw = self._texts.of(definition) if definition is not None else None
        if definition is None or raw is None:
            return None
        found = self._value(definition, raw)
        for step in _steps(definition.item.field):
            if is_list(found) and isinstance(step, int):
                found = found[step]
            elif is_mapping(found):
                found = found[str(step)]
        return found if is_mapping(found) else None

    def _value(self, definition: claims.Definition, raw: bytes) -> object:
        """The value of a document; a list is read once for all of its objects."""
        if not definition.item.field:
            return parse.value(raw)
        digest = definition.document.digest
        if digest not in self._lists:
            self._lists[digest] = parse.value(raw)
        return self._lists[digest]


class Locator:
    """Finds places of fields. It reads each file once; make one for each listing."""

    def __init__(self, definition: Define) -> None:
        self._definition = definition
        self._texts = _Texts()
        self._left = MOST
        self._latest: tuple[bytes, lines.Lines] = (b"", lines.Lines(b""))

    def __call__(self, subject: ObjectRef, field: str) -> Place | None:
        """The place of a field (`spec.routes[0].services[0]`); None if no file has the object."""
        definition = self._definition(subject)
        if definition is None:
            return None
        document = definition.document
        raw = self._text(definition) if field else None
        if raw is None:
            return Place(shown(definition.file), document.line)
        path = (*_steps(definition.item.field), *_steps(field))
        (line,) = self._lines(document.digest, raw).found([path])
        return Place(shown(definition.file), document.line + line)

    def _lines(self, digest: bytes, raw: bytes) -> lines.Lines:
        """The lines of a document, which several fields are looked up in one after the other."""
        if self._latest[0] != digest:
            self._latest = digest, lines.Lines(raw)
        return self._latest[1]

    def _text(self, definition: claims.Definition) -> bytes | None:
        if self._left == 0:
            return None
        self._left -= 1
        return self._texts.of(definition)


def _by_digest(file: ManifestSource) -> Mapping[bytes, bytes]:
    if file == reading.STDIN:
        return {}
    try:
        content = reading.content(file)
    except OSError:
        return {}
    return {it.digest: it.raw for it in documents.texts(content.raw)}


_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def _steps(field: str) -> FieldPath:
    """The steps of a path: names of fields, and indexes of items."""
    found = (it[1] if it[1] is not None else it[2] for it in _STEP.finditer(field))
    return tuple(int(it) if it.isdecimal() else it for it in found)
