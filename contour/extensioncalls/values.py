"""Encodes values of the graph, and decodes them: for what outlives the process.

They are frozen dataclasses and NamedTuples of `dag`, `crds` and `contour.envoy`, made of plain
values, tuples and mappings. A value that another release has written is decoded completely or not
at all: each object is made by its class, with its fields by name.
"""

import base64
import dataclasses
import importlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias, cast

_PACKAGES: Final = ("dag.", "crds.", "contour.envoy.")
"""The packages of the classes; no object of another class is made when decoding."""
_LEVEL: Final = 1
"""Of compression, the fastest: keys repeat."""


Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


class UnreadableError(Exception):
    """The bytes are not a value that this release can decode."""


def encoded(value: object) -> bytes:
    """A value in bytes. Raises TypeError for a value of an unsupported type."""
    return zlib.compress(json.dumps(_plain(value), separators=(",", ":")).encode(), _LEVEL)


def decoded(body: bytes) -> object:
    """The value. Raises UnreadableError."""
    try:
        return _value(json.loads(zlib.decompress(body)))
    except (ValueError, TypeError, LookupError, zlib.error, ImportError, AttributeError) as error:
        raise UnreadableError(str(error)) from error


def _plain(value: object) -> Json:
    """What JSON has; everything else is an object with the single key that says what it is."""
    of = _kind(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if of is frozenset:
        return {"set": [_plain(it) for it in cast("Iterable[object]", value)]}
    if of is tuple:
        return [_plain(it) for it in cast("Iterable[object]", value)]
    if issubclass(of, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {"map": [[_plain(key), _plain(it)] for key, it in pairs]}
    return {_path(of): {it: _plain(getattr(value, it)) for it in _fields(of)}}


def _value(found: Json) -> object:
    if isinstance(found, list):
        return tuple(_value(it) for it in found)
    if not isinstance(found, dict):
        return found
    ((what, content),) = found.items()
    match what, content:
        case "bytes", str():
            return base64.b64decode(content)
        case "set", list():
            return frozenset(_value(it) for it in content)
        case "map", list():
            return dict(_pair(it) for it in content)
        case _, dict():
            return _class(what)(**{name: _value(it) for name, it in content.items()})
        case _:
            raise TypeError(f"{what} is not kept so")


def _pair(found: Json) -> tuple[object, object]:
    if not isinstance(found, list):
        raise TypeError("no pair")
    key, value = found
    return _value(key), _value(value)


def _kind(value: object) -> type[object]:
    return type(value)


def _path(of: type[object]) -> str:
    return f"{of.__module__}:{of.__qualname__}"


def _fields(of: type[object]) -> tuple[str, ...]:
    if not of.__module__.startswith(_PACKAGES):
        raise TypeError(f"{_path(of)} is not kept")
    if dataclasses.is_dataclass(of):
        return tuple(it.name for it in dataclasses.fields(of))
    names: tuple[str, ...] = getattr(of, "_fields")  # noqa: B009 — of a NamedTuple
    return names


@cache
def _class(path: str) -> Callable[..., object]:
    module, _, name = path.partition(":")
    if not module.startswith(_PACKAGES):
        raise TypeError(f"{path} is not kept")
    found: type[object] = getattr(importlib.import_module(module), name)
    _fields(found)
    return found
