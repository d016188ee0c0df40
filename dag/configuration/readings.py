"""Reading a value of the configuration: what it makes, or what is wrong with it.

For the modules that read a ContourConfiguration. Errors are collected with their field paths, and
a default stands in for what makes no sense.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from dag.statuses import SubCondition

T = TypeVar("T")

Errors = list[SubCondition]


def one_of(known: tuple[str, ...], given: str | None, path: str, errors: Errors) -> str | None:
    """The value, if it is a known one."""
    if given and given not in known:
        tell(errors, path, f"{given[:60]!r} is none of {', '.join(known)}")
        return None
    return given or None


def all_of(
    known: tuple[str, ...], given: Iterable[str], path: str, errors: Errors
) -> tuple[str, ...]:
    """The values that are known ones, each once."""
    found = (one_of(known, it, f"{path}[{index}]", errors) for index, it in enumerate(given))
    return tuple(dict.fromkeys(it for it in found if it))


def or_default(default: T, path: str, errors: Errors, read: Callable[[], T]) -> T:
    """What can be read, or the default."""
    try:
        return read()
    except ValueError as error:
        tell(errors, path, str(error))
        return default


def tell(errors: Errors, path: str, message: str) -> None:
    """Adds an error."""
    errors.append(SubCondition("SpecError", "InvalidValue", f"{path}: {message}"))
