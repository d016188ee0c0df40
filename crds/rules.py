"""Rules that relate several fields of one object: one declaration for decoding and for the CRD.

The API server checks them as CEL (`x-kubernetes-validations`), decoding checks them in Python, with
the same message. Rules that need more than the object itself are in `dag`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError


class Cel(NamedTuple):
    """One entry of `x-kubernetes-validations`."""

    rule: str
    message: str


def rule(message: str, holds: Callable[[Any], bool], cel: str = "") -> Any:
    """A rule, to be assigned in the body of a model: objects that violate it are invalid."""

    def check(self: Any) -> Any:
        if not holds(self):
            raise PydanticCustomError("rule", "{message}", {"message": message})
        return self

    check.cel = Cel(cel, message) if cel else None  # type: ignore[attr-defined]
    return model_validator(mode="after")(check)


def cel_rules(model: type) -> tuple[Cel, ...]:
    """The rules that the API server checks on each object of this class, inherited ones first."""
    members = (it for base in reversed(model.__mro__) for it in vars(base).values())
    found = (getattr(it, "cel", None) for it in members)
    return tuple(it for it in found if isinstance(it, Cel))
