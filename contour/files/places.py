"""In which line of which file a field of an object stands, for what is told of it later.

Nothing keeps the text of a document. It is read again when somebody asks, and only a text that is
the one that was read tells the line of a field; else there is the line where the document began.
"""

import re

from contour.complaints import Place
from contour.files import claims, documents, lines, reading
from contour.files.contents import FieldPath


def of(definition: claims.Definition, field: str) -> Place:
    """The place of a field, given by its path (`spec.routes[0].services[0]`), of an object."""
    document = definition.document
    raw = _text(definition)
    if raw is None:
        return Place(definition.file, document.line)
    path = (*_steps(definition.item.field), *_steps(field))
    return Place(definition.file, document.line + lines.found(raw, [path])[0])


def _text(definition: claims.Definition) -> bytes | None:
    """The document, if the file still has it."""
    if definition.file == reading.STDIN:
        return None
    try:
        content = reading.content(definition.file)
    except OSError:
        return None
    digest = definition.document.digest
    return next((it.raw for it in documents.texts(content.raw) if it.digest == digest), None)


_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def _steps(field: str) -> FieldPath:
    """A path as users read it, in steps: names of fields, and numbers of items."""
    found = (it[1] if it[1] is not None else it[2] for it in _STEP.finditer(field))
    return tuple(int(it) if it.isdecimal() else it for it in found)
