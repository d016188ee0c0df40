"""In which line of which file a field of an object stands, for what is told of it later.

Nothing keeps the text of a document. It is read again when somebody asks, and only a text that is
the one that was read tells the line of a field; else there is the line where the document began.
"""

import re
from collections.abc import Callable, Mapping

from contour.complaints import ManifestSource, Place
from contour.files import claims, documents, lines, reading
from contour.files.contents import FieldPath
from crds.meta import ObjectRef

MOST = 200
"""Fields that one locator looks up; each takes parsing a document. What comes after has the line
of its document."""


class Locator:
    """For one listing: it reads each file once, and is not kept."""

    def __init__(self, definition: Callable[[ObjectRef], claims.Definition | None]) -> None:
        self._definition = definition
        self._texts: dict[ManifestSource, Mapping[bytes, bytes]] = {}
        self._left = MOST

    def __call__(self, subject: ObjectRef, field: str) -> Place | None:
        """The place of a field (`spec.routes[0].services[0]`); None if no file has the object."""
        definition = self._definition(subject)
        if definition is None:
            return None
        document = definition.document
        raw = self._text(definition) if field else None
        if raw is None:
            return Place(definition.file, document.line)
        path = (*_steps(definition.item.field), *_steps(field))
        return Place(definition.file, document.line + lines.found(raw, [path])[0])

    def _text(self, definition: claims.Definition) -> bytes | None:
        """The document, if the file still has it."""
        if self._left == 0:
            return None
        self._left -= 1
        file = definition.file
        if file not in self._texts:
            self._texts[file] = _by_digest(file)
        return self._texts[file].get(definition.document.digest)


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
    """A path as users read it, in steps: names of fields, and numbers of items."""
    found = (it[1] if it[1] is not None else it[2] for it in _STEP.finditer(field))
    return tuple(int(it) if it.isdecimal() else it for it in found)
