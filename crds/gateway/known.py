"""Values that a later version of the Gateway API may add to: checked by the rules, not on decoding.

The API requires it ("implementations MUST gracefully handle unknown values"): an object written
for a later version is decoded, and a condition reports the values that are not known here. So a
field with a closed list of values has the type of the values, with the list beside it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds import shape
from crds.records import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """In `Annotated[str, Known(...)]`: the values that are known today."""

    values: tuple[object, ...]

    def __init__(self, *values: object) -> None:
        object.__setattr__(self, "values", values)


class UnknownValue(NamedTuple):
    """A value of an object that is not among the known ones."""

    path: str
    """As users write it: `spec.rules[1].matches[0].path.type`."""
    value: object
    known: tuple[object, ...]

    @property
    def message(self) -> str:
        """The end of a sentence that begins with the path."""
        return f"{self.value!r} is none of {', '.join(map(str, self.known))}"


def unknown_values(obj: object) -> tuple[UnknownValue, ...]:
    """Every value that is not known, in the order of the model."""
    return tuple(found for field in shape.marked(obj, Known) for found in _unknown(field))


def _unknown(field: shape.MarkedField[Known]) -> Iterator[UnknownValue]:
    known = field.mark.values
    items = shape.items(field.value)
    if items is None:
        if field.value not in known:
            yield UnknownValue(field.path, field.value, known)
        return
    for index, item in enumerate(items):
        if item not in known:
            yield UnknownValue(f"{field.path}[{index}]", item, known)
