"""What is wrong with an object, in plain words: from pydantic's errors to complaints for users.

Each complaint has the path of the field in the user's document and says what the field must be.
An unknown field is a warning that suggests the most similar known name.
"""

import difflib
import reprlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from pydantic_core import ErrorDetails

from crds import shape
from crds.fields import IN_WORDS

FieldPath = tuple[str | int, ...]

UNKNOWN_FIELD = "unexpected_keyword_argument"
"""pydantic's error type for a field that a dataclass does not have."""
UNICODE = "must be valid Unicode text without NUL"


class Complaint(NamedTuple):
    """One thing that is wrong with an object."""

    path: FieldPath
    """The path of the field in the user's document."""
    message: str
    severity: Literal["error", "warning"] = "error"
    meant: str = ""
    """Of an unknown field: the most similar known name; empty if none is similar."""

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


def dotted(path: FieldPath) -> str:
    """A path as users write it: `spec.routes[0].services[1].port`."""
    text = "".join(f"[{it}]" if isinstance(it, int) else f".{printable(it)}" for it in path)
    return text.removeprefix(".")


def printable(name: str) -> str:
    """A name from a document, shortened and quoted if it could break a terminal or flood a log."""
    return name if len(name) <= 253 and name.isprintable() else _shown(name)


def complaints(model: type, found: Sequence[ErrorDetails]) -> tuple[Complaint, ...]:
    """pydantic's errors about an object of the class, in plain words; at most the first 100."""
    real = [it for it in found if not _is_consequence(it)]
    first = tuple(_complaint(model, it) for it in real[:_MOST])
    more = len(real) - len(first)
    return (*first, Complaint((), f"and {more} more like these")) if more else first


_MOST = 100


def _is_consequence(found: ErrorDetails) -> bool:
    """Whether a list is too short only because pydantic left out its invalid entries."""
    least = found.get("ctx", {}).get("min_length", 0)
    return found["type"] == "too_short" and len(found["input"]) >= least


def _complaint(model: type, found: ErrorDetails) -> Complaint:
    path = tuple(it for it in found["loc"] if it != "[key]")
    if found["type"] == UNKNOWN_FIELD:
        near = _similar(model, path)
        text = f"unknown field; did you mean {near}?" if near else "unknown field"
        return Complaint(path, text, "warning", near)
    return Complaint(path, _message(found, path))


def _similar(model: type, path: FieldPath) -> str:
    """The known field with the most similar name; empty if there is none."""
    holder = _model_at(model, path[:-1])
    known = list(shape.fields(holder)) if holder else []
    return next(iter(difflib.get_close_matches(str(path[-1])[:100], known, n=1)), "")


def _model_at(model: type | None, path: FieldPath) -> type | None:
    for step in path:
        if model is not None and isinstance(step, str):
            field = shape.fields(model).get(step)
            model = field.model if field else None
    return model


_MESSAGES = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_unicode": UNICODE,
    "invalid_key": "the names of fields must be text",
    "bytes_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "dataclass_type": "must be an object",
    "dataclass_exact_type": "must be an object",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have at most {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "timezone_aware": "must be a time with a zone, such as 2024-01-31T12:00:00Z",
}


def _message(found: ErrorDetails, path: FieldPath) -> str:
    kind = found["type"]
    if kind.startswith(("datetime_", "date_", "time_")):
        return "must be a time, such as 2024-01-31T12:00:00Z"
    text = _expected(kind, found.get("ctx", {})) or found["msg"]
    if kind in _SHOWING and path[:1] not in _SECRET:
        text = f"{text}, not {_shown(found['input'])}"
    # Without quotes YAML reads `y`, `no` and `1.10` as booleans and numbers, not as text.
    is_scalar = kind in ("string_type", "bytes_type") and isinstance(
        found["input"], bool | int | float
    )
    return f"{text}; write it in quotes" if is_scalar else text


def _expected(kind: str, values: dict[str, Any]) -> str | None:
    if kind == "string_pattern_mismatch":
        pattern: str = values["pattern"]
        return f"must be {IN_WORDS.get(pattern, f'text that matches {pattern}')}"
    return _MESSAGES[kind].format_map(values) if kind in _MESSAGES else None


_SHOWING = {
    *("int_type", "bool_type", "string_type", "tuple_type", "dict_type", "dataclass_type"),
    *("literal_error", "string_pattern_mismatch", "greater_than_equal", "less_than_equal"),
}
_SECRET = {("data",), ("stringData",)}


def _shown(value: Any) -> str:
    """The value that was found, shortened so that it cannot flood a status or a log."""
    return _Brief().repr(value).replace("\n", " ")


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 40
        self.maxlevel, self.maxdict, self.maxlist = 1, 1, 1

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to print numbers of more than 4300 digits."""
        return super().repr_int(x, level) if x.bit_length() < 256 else "a very large number"

    def repr_bool(self, x: bool, level: int) -> str:
        """Written as in YAML and JSON."""
        return "true" if x else "false"

    def repr_NoneType(self, _: None, level: int) -> str:  # noqa: N802 -- reprlib's name.
        """Written as in YAML and JSON."""
        return "null"
