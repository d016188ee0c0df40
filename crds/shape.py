"""The shape of a model class: its fields, their names on the wire, and the models they hold.

For whoever walks models without knowing them: the list of unserved fields, the suggestions for
unknown ones, the CRD schema. Computed once per class.
"""

import dataclasses
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo


class FieldShape(NamedTuple):
    """One field of a model."""

    name: str
    wire_name: str
    default: Any
    """`dataclasses.MISSING` where the field is required."""
    model: type | None
    """The model that the field holds, or holds a sequence or a mapping of."""
    metadata: tuple[object, ...]
    """What stands beside the type in `Annotated`."""


@cache
def fields(model: type) -> dict[str, FieldShape]:
    """The fields of a model by their names on the wire, in order."""
    hints = get_type_hints(model, include_extras=True)
    known: dict[str, FieldInfo] = model.__pydantic_fields__  # type: ignore[attr-defined]
    shapes = (_field(it.name, hints[it.name], known[it.name]) for it in dataclasses.fields(model))
    return {it.wire_name: it for it in shapes}


def _field(name: str, hint: Any, found: FieldInfo) -> FieldShape:
    wire_name = found.validation_alias if isinstance(found.validation_alias, str) else name
    default = (
        dataclasses.MISSING
        if found.is_required()
        else found.get_default(call_default_factory=True, validated_data={})
    )
    metadata = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return FieldShape(name, wire_name, default, _held(hint), tuple(metadata))


def _held(hint: Any) -> type | None:
    if dataclasses.is_dataclass(hint):
        return hint if isinstance(hint, type) else None
    inner = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    return next((it for it in map(_held, inner) if it is not None), None)
