"""Parses one document into plain Python values, within strict limits.

JSON is read by the JSON parser, everything else by libyaml, whose events `composition` composes. A
refused document is refused with the line of the fault. Elsewhere: the meaning of scalars
(`scalars`), and the lines of fields (`lines`).
"""

import codecs
import json
import re
from typing import NoReturn

from yaml import MarkedYAMLError
from yaml._yaml import CParser
from yaml.events import Event
from yaml.reader import ReaderError

from contour.files import composition, scalars

MAX_BYTES = 4 << 20
MAX_DEPTH = composition.MAX_DEPTH

_BEGINS_LIKE_JSON = re.compile(r"\s*\{")
_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""libyaml reads ahead, and since 0.2.6 has a limit of its own, which is higher than ours."""


class MalformedError(Exception):
    """A document that cannot be read; the line is counted from 0 within the document."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def value(raw: bytes) -> object:
    """The value of one document, None for an empty one. Raises MalformedError."""
    if len(raw) > MAX_BYTES:
        size, limit = len(raw) / (1 << 20), MAX_BYTES >> 20
        raise MalformedError(f"the document has {size:.1f} MiB; at most {limit} MiB are allowed")
    text = _text(raw)
    if _BEGINS_LIKE_JSON.match(text):
        # Invalid JSON may still be YAML; if it is not, the YAML parser knows the line.
        try:
            return json.loads(
                text, object_pairs_hook=_unique, parse_constant=_refused, parse_float=scalars.finite
            )
        except (ValueError, RecursionError):
            pass
    return _yaml(raw)


def _text(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise MalformedError("the text is UTF-16; save it as UTF-8")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        raise MalformedError(f"byte 0x{raw[error.start]:02x} is not valid UTF-8", line) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("duplicate key")
    return result


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _yaml(raw: bytes) -> object:
    events = composition.Composition()
    event: Event | None = None
    try:
        next_event, take = CParser(raw).get_event, events.take
        while (event := next_event()) is not None:
            take[event.__class__](event)
    except scalars.RefusedError as error:
        mark = event.start_mark if event else None
        line = mark.line if mark else 0
        raise MalformedError(str(error) + _of_template(raw, line), line) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line if mark else 0
        advice = _of_template(raw, line) or _advice(error, raw)
        raise MalformedError(_sentence(error) + advice, line) from None
    except ReaderError as error:
        line = raw.count(b"\n", 0, error.position)
        raise MalformedError(f"{error.reason}: 0x{error.character:02x}", line) from None
    return events.value


def _sentence(error: MarkedYAMLError) -> str:
    if error.problem == _TOO_DEEP_FOR_LIBYAML:
        return composition.TOO_DEEP
    parts = (error.problem, error.context)
    return " ".join(part for part in parts if part) or "not valid YAML"


def _of_template(raw: bytes, line: int) -> str:
    """Advice, if there is a template at the fault: libyaml may notice it one line later."""
    near = raw.split(b"\n", line + 1)[max(line - 1, 0) : line + 1]
    return "; render templates first" if any(b"{{" in it for it in near) else ""


_NO_TOKEN = "found character that cannot start any token"


def _advice(error: MarkedYAMLError, raw: bytes) -> str:
    """What to do about a character that YAML gives another meaning."""
    mark = error.problem_mark
    if error.context == "while scanning an alias":
        found = "*"
    elif error.problem == _NO_TOKEN and mark is not None:
        found = raw.split(b"\n", mark.line + 1)[mark.line].decode()[mark.column : mark.column + 1]
    else:
        return ""
    if found == "\t":
        return "; indent with spaces, not with tabs"
    return f"; put text that begins with {found} in quotes" if found else ""
