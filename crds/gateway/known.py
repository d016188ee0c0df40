"""Values that a later version of the Gateway API may add to: checked by the rules, not on reading.

The API asks for that ("implementations MUST gracefully handle unknown values"): an object of the
future is read, and what it wants of us is told in a condition. So a field with a closed list of
values is text here, with the list beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from crds import shape


@dataclass(frozen=True, slots=True)
class Known:
    """In `Annotated[str, Known(...)]`: the values that are known today."""

    values: tuple[object, ...]

    def __init__(self, *values: object) -> None:
        object.__setattr__(self, "values", values)


class UnknownValue(NamedTuple):
    """A value of an object that is none of those known."""

    path: str
    """As users write it: `spec.rules[1].matches[0].path.type`."""
    value: object
    known: tuple[object, ...]

    @property
    def message(self) -> str:
        """The end of a sentence that begins with the path."""
        return f"{self.value!r} is none of {', '.join(map(str, self.known))}"


def unknown_values(obj: Any) -> tuple[UnknownValue, ...]:
    """Every value that is not known, in order of the model."""
    return tuple(_found(obj, "")) if _visits(_class(obj)) else ()


class _Visit(NamedTuple):
    name: str
    wire_name: str
    known: Known | None
    descends: bool


@cache
def _visits(model: type) -> tuple[_Visit, ...]:
    """The fields of a class that have such a list or lead to one."""
    visits = (
        _Visit(
            it.name,
            it.wire_name,
            next((mark for mark in it.metadata if isinstance(mark, Known)), None),
            it.model is not None and bool(_visits(it.model)),
        )
        for it in shape.fields(model).values()
    )
    return tuple(it for it in visits if it.known or it.descends)


def _found(obj: Any, prefix: str) -> Iterator[UnknownValue]:
    for visit in _visits(_class(obj)):
        value = getattr(obj, visit.name)
        if value is None or value == ():
            continue
        path = prefix + visit.wire_name
        if visit.known:
            yield from _unknown(value, path, visit.known.values)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from _found(item, f"{path}[{index}].")
        else:
            yield from _found(value, f"{path}.")


def _unknown(value: Any, path: str, known: tuple[object, ...]) -> Iterator[UnknownValue]:
    if not isinstance(value, tuple):
        if value not in known:
            yield UnknownValue(path, value, known)
        return
    for index, item in enumerate(value):
        if item not in known:
            yield UnknownValue(f"{path}[{index}]", item, known)


def _class(obj: object) -> type:
    return type(obj)
