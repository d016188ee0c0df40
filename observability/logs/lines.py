"""One record, one line: as JSON, or as text for people.

Much of what is logged was written by tenants or by clients. It must not break lines or control the
terminal: every unprintable character is shown as an escape, in JSON as in text. Key material is
always bytes, so bytes are never shown, however deeply they are nested in logged values.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sized
from datetime import UTC, datetime
from typing import TypeGuard

import orjson

from observability import printable

LONGEST = 16 * 1024  # characters of one value; the rest says nothing that this does not

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Json(logging.Formatter):
    """`time`, `level`, `logger`, `message`, then the fields; `error` is a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message(record),
            **{name: value for name, value in fields(record).items() if name not in _RESERVED},
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)[-LONGEST:]
        try:
            line = orjson.dumps(said, default=str, option=orjson.OPT_NON_STR_KEYS)
        except (TypeError, ValueError):  # half of a surrogate pair, a number beyond 64 bits
            line = orjson.dumps({name: ascii(value) for name, value in said.items()})
        return printable.UNPRINTABLE.sub(lambda it: f"\\u{ord(it.group()):04x}", line.decode())


class Text(logging.Formatter):
    """Time, level, logger and message; then the fields; a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        said = "".join(f" {name}={value}" for name, value in fields(record).items())
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {message(record)}{said}"
        line = printable.line(line)
        if not record.exc_info:
            return line
        return f"{line}\n{printable.lines(self.formatException(record.exc_info))}"


def message(record: logging.LogRecord) -> str:
    """The message with its arguments, without what must not be shown."""
    arguments = record.args
    if not arguments:
        return str(record.msg)[:LONGEST]
    try:
        return str(str(record.msg) % _shown(arguments))[:LONGEST]
    except (TypeError, ValueError, KeyError) as error:
        return f"{record.msg!r} cannot be written with {len(arguments)} arguments: {error}"


def fields(record: logging.LogRecord) -> dict[str, object]:
    """The fields that were added to the record by `extra`."""
    added = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    return {name: _shown(value) for name, value in added.items()}


def _shown(value: object) -> object:
    """The same value without bytes, which may be a key."""
    if isinstance(value, _BYTES):
        return f"[redacted: {len(value)} bytes]"
    if isinstance(value, str):
        return value[:LONGEST]
    if _is_mapping(value):
        return {name: _shown(it) for name, it in value.items()}
    if not _is_collection(value):
        return value
    shown = [_shown(it) for it in value]
    made: Callable[..., object] | None = getattr(type(value), "_make", None)  # of a NamedTuple
    if made is not None:
        return made(shown)
    return tuple(shown) if isinstance(value, tuple) else shown


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _is_collection(value: object) -> TypeGuard[Collection[object]]:
    return isinstance(value, tuple | list | set | frozenset)


_BYTES: tuple[type[Sized], ...] = (bytes, bytearray, memoryview)
_RESERVED = frozenset({"time", "level", "logger", "message", "error"})


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
