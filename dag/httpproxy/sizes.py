"""How much text a value has: about as many characters as in JSON, with the names of fields.

What an HTTPProxy has is made anew for each place where it is included, with all conditions that
lead there, so the cost depends on the text, not only on the number of routes.
"""

from collections.abc import Mapping
from typing import cast

_FIELD = 12
"""The usual name of a field, with what separates it from others."""

_ITEM = 4
"""What separates the items of a list, or a number."""


def size(value: object) -> int:
    """The characters of a model or node. What is absent has none."""
    if isinstance(value, str):
        return len(value) + _ITEM
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return sum(size(name) + size(it) for name, it in pairs)
    if isinstance(value, tuple):
        return sum(map(size, cast("tuple[object, ...]", value)))
    fields = getattr(value, "__dataclass_fields__", ())
    given = [it for name in fields if (it := getattr(value, name))]
    return sum(map(size, given)) + _FIELD * len(given) if given else _ITEM
