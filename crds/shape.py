"""The shape of a model class: its fields, their names in a document, and the models they hold.

Used by code that walks models without knowing their kind: the suggestions for unknown fields, the
CRD schema, and the marks in `Annotated` (`unserved`, `gateway.known`). Computed once per class.
"""

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic.fields import FieldInfo

from crds.meta import wire_name

M = TypeVar("M", bound=Hashable)


class FieldShape(NamedTuple):
    """One field of a model."""

    name: str
    wire_name: str
    default: Any
    """`dataclasses.MISSING` where the field is required."""
    model: type | None
    """The model that the field holds, or holds a sequence or a mapping of."""
    metadata: tuple[object, ...]
    """The marks beside the type in `Annotated`."""


@cache
def fields(model: type) -> dict[str, FieldShape]:
    """The fields of a model by their names in a document, in the order of the model."""
    hints = get_type_hints(model, include_extras=True)
    shapes = (_field(it, hints[it.name]) for it in dataclasses.fields(model))
    return {it.wire_name: it for it in shapes}


def _field(found: dataclasses.Field[object], hint: Any) -> FieldShape:
    factory = found.default_factory
    default = found.default if factory is dataclasses.MISSING else factory()
    metadata = hint.__metadata__ if get_origin(hint) is Annotated else ()
    named = (it.validation_alias for it in metadata if isinstance(it, FieldInfo))
    alias = next((it for it in named if isinstance(it, str)), wire_name(found.name))
    return FieldShape(found.name, alias, default, _held(hint), tuple(metadata))


def _held(hint: Any) -> type | None:
    if dataclasses.is_dataclass(hint):
        return hint if isinstance(hint, type) else None
    inner = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    return next((it for it in map(_held, inner) if it is not None), None)


class MarkedField(NamedTuple, Generic[M]):
    """A field with a mark that an object sets."""

    path: str
    """As users write it: `spec.rules[1].matches[0].path.type`."""
    value: object
    default: object
    mark: M


def items(value: object) -> Sequence[object] | None:
    """The entries of a field that holds several; None if it holds one value."""
    return value if _is_tuple(value) else None


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def mark(field: FieldShape, kind: type[M]) -> M | None:
    """The mark of this kind on a field, if there is one."""
    return next((it for it in field.metadata if isinstance(it, kind)), None)


def marked(obj: object, kind: type[M], prefix: str = "") -> Iterator[MarkedField[M]]:
    """Every field with a mark of this kind that the object sets, in the order of the model."""
    class_: type = type(obj)
    for field in _marked_fields(class_, kind):
        value = getattr(obj, field.name)
        if value is None or value == ():
            continue
        path = prefix + field.wire_name
        if (found := mark(field, kind)) is not None:
            yield MarkedField(path, value, field.default, found)
        if (inner := items(value)) is None:
            yield from marked(value, kind, f"{path}.")
        elif field.model is not None:
            for index, item in enumerate(inner):
                yield from marked(item, kind, f"{path}[{index}].")


@cache
def _marked_fields(class_: type, kind: type) -> tuple[FieldShape, ...]:
    """The fields of a model that have such a mark or lead to one."""
    if not dataclasses.is_dataclass(class_):
        return ()
    return tuple(
        it
        for it in fields(class_).values()
        if mark(it, kind) is not None or (it.model is not None and _marked_fields(it.model, kind))
    )
