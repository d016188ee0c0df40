"""Rules between the fields of one object: one declaration for decoding and for the CRD.

The Kubernetes API server checks them as CEL (`x-kubernetes-validations`), decoding checks them in
Python; the message is the same. Rules that need more than the object itself belong to the graph.
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
    """To be assigned in the body of a model: objects for which it does not hold are refused."""

    def check(self: Any) -> Any:
        if not holds(self):
            raise PydanticCustomError("rule", "{message}", {"message": message})
        return self

    check.cel = Cel(cel, message) if cel else None  # type: ignore[attr-defined]
    return model_validator(mode="after")(check)


def cel_rules(model: type) -> tuple[Cel, ...]:
    """What the API server is to check on each object of this class."""
    found = (getattr(it, "cel", None) for it in vars(model).values())
    return tuple(it for it in found if isinstance(it, Cel))
