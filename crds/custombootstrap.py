"""A bootstrap of Envoy that users write themselves, as in a ContourConfiguration.

The names are those of Envoy Gateway's EnvoyProxy. What must stay of the bootstrap that a fleet is
rendered is decided elsewhere (`contour.custombootstrap`): it takes protobuf to compare the two.
"""

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from crds import complaints
from crds.complaints import Complaint
from crds.envoyconfig import canonical
from crds.meta import model
from crds.rules import rule

LONGEST = 1 << 19
"""The number of characters that a bootstrap may have."""

MOST_PATCHES = 256

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
Pointer = Annotated[str, StringConstraints(max_length=1024, pattern=r"^(/.*)?$")]


def _canonical(value: object) -> str:
    try:
        return canonical(value)
    except (TypeError, ValueError):
        raise PydanticCustomError("json", "holds a value that JSON cannot hold") from None


JsonValue = Annotated[
    str,
    BeforeValidator(_canonical),
    WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True}),
]
"""Any JSON value, as its canonical text."""

NEEDS_FROM = ("move", "copy")


@model
class JsonPatch:
    """One operation of a JSON patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    """The operation: add, remove, replace, move, copy or test."""
    path: Pointer
    """The JSON pointer of the place that the operation is about. Fields have the names that
    `contour bootstrap` prints, such as `/static_resources/clusters/-`."""
    from_: Pointer | None = Field(default=None, validation_alias="from")
    """The JSON pointer of the place that `move` and `copy` take the value from."""
    value: JsonValue | None = None
    """The value for add, replace and test: any JSON value. It must be set for these, and for no
    other op."""
    _source = rule(
        "from must be set for move and copy, and for no other op",
        lambda it: (it.from_ is not None) == (it.op in NEEDS_FROM),
        "has(self.from) == (self.op in ['move', 'copy'])",
    )


@model
class CustomBootstrap:
    """A bootstrap of Envoy that replaces or changes the usual one. The dynamic resources, the
    cluster of the control plane, the identity of the node and what readiness depends on must stay
    as they are; otherwise it is refused, and the Envoys keep the bootstrap that they have."""

    type: Literal["Replace", "Merge", "JSONPatch"] = "Replace"
    """What becomes of the usual bootstrap. Replace, the default, takes `value` instead; Merge
    adds `value` to it, where lists are appended; JSONPatch applies `jsonPatches` to it."""
    value: Text | None = None
    """The bootstrap in YAML or JSON, for Replace and Merge. Without `node`,
    the fleet's own is used."""
    json_patches: Annotated[tuple[JsonPatch, ...], Field(max_length=MOST_PATCHES)] = ()
    """The operations for JSONPatch, applied in this order to what `contour bootstrap` prints."""
    _either = rule(
        "Replace and Merge need value alone, and JSONPatch needs jsonPatches alone",
        lambda it: (it.value is None) == bool(it.json_patches) == (it.type == "JSONPatch"),
        "self.type == 'JSONPatch' "
        "? !has(self.value) && has(self.jsonPatches) && size(self.jsonPatches) > 0 "
        ": has(self.value) && (!has(self.jsonPatches) || size(self.jsonPatches) == 0)",
    )


def read(value: object) -> CustomBootstrap | tuple[Complaint, ...]:
    """A bootstrap as it is written where it is no field of a ContourConfiguration: an object of
    these fields, or a text that replaces the usual one; or what is wrong with it."""
    written = {"value": value} if isinstance(value, str) else value
    try:
        return TypeAdapter(CustomBootstrap).validate_python(written)
    except ValidationError as error:
        return complaints.complaints(CustomBootstrap, error.errors(include_url=False))
