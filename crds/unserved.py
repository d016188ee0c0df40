"""Fields that a user may write but this release does not serve.

A marked field is in the model, so that it is checked and documented; `unserved` lists the ones that
an object really sets, for the rules to tell on its status instead of being silently wrong. A field
that guards something must not be passed over: the rules fail closed where it is set.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from crds import shape


@dataclass(frozen=True, slots=True)
class Unserved:
    """In `Annotated[T, Unserved()]`: setting the field has no effect."""

    guards: bool = False
    """To ignore the field would open something: what it stands on must not be served at all."""
    values: tuple[object, ...] = ()
    """Only these values are not served; empty for all."""
    instead: str = ""
    """It will never have one, for there is something else to the same end; empty: not yet."""

    def covers(self, value: object) -> bool:
        """Whether this value is one that is not served."""
        return not self.values or value in self.values


class UnservedField(NamedTuple):
    """A marked field that an object sets."""

    path: str
    """As users write it: `spec.routes[1].services[0].validation`."""
    guards: bool
    why: str = "not served yet"


def unserved(obj: Any) -> tuple[UnservedField, ...]:
    """Every marked field that the object sets to other than its default, in order of the model."""
    return tuple(_found(obj, "")) if _has_markers(_class(obj)) else ()


def marker(field: shape.FieldShape) -> Unserved | None:
    """The mark on a field of a model, if there is one."""
    return next((it for it in field.metadata if isinstance(it, Unserved)), None)


class _Visit(NamedTuple):
    name: str
    wire_name: str
    default: Any
    marker: Unserved | None
    descends: bool


@cache
def _visits(model: type) -> tuple[_Visit, ...]:
    """The fields of a class that are marked or lead to marked ones."""
    visits = (
        _Visit(
            it.name,
            it.wire_name,
            it.default,
            marker(it),
            it.model is not None and _has_markers(it.model),
        )
        for it in shape.fields(model).values()
    )
    return tuple(it for it in visits if it.marker or it.descends)


@cache
def _has_markers(model: type) -> bool:
    return bool(_visits(model))


def _found(obj: Any, prefix: str) -> Iterator[UnservedField]:
    for visit in _visits(_class(obj)):
        value = getattr(obj, visit.name)
        if value is None or value == ():
            continue
        path = prefix + visit.wire_name
        if visit.marker and value != visit.default and visit.marker.covers(value):
            why = visit.marker.instead or "not served yet"
            yield UnservedField(path, visit.marker.guards, why)
        if visit.descends and isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from _found(item, f"{path}[{index}].")
        elif visit.descends:
            yield from _found(value, f"{path}.")


def _class(obj: object) -> type:
    return type(obj)
