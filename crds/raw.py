"""Documents before a model reads them: JSON values of any shape, narrowed step by step.

Their objects have text for keys: JSON allows no others, and the YAML reader makes text of them.
"""

from typing import TypeGuard

Raw = dict[str, object]
"""A document, or an object inside one."""


def is_mapping(value: object) -> TypeGuard[Raw]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def mapping(value: object) -> Raw:
    """The value if it is a JSON object, else an empty one."""
    return value if is_mapping(value) else {}


def items(value: object) -> list[object]:
    """The entries of a JSON array; none of anything else."""
    return value if is_list(value) else []


def at(value: object, *path: str) -> object:
    """What stands at a path below an object; None if nothing does."""
    for name in path:
        value = mapping(value).get(name)
    return value
