"""Fields that a user may set but that this release does not serve.

A marked field is part of the model, so that it is validated and documented. `unserved` lists the
marked fields that an object really sets, and the rules report them in its status. A field that
guards something must not be ignored: the rules fail closed where it is set.
"""

from typing import NamedTuple

from crds import shape
from crds.records import dataclass


@dataclass(frozen=True, slots=True)
class Unserved:
    """In `Annotated[T, Unserved()]`: setting the field has no effect."""

    guards: bool = False
    """Ignoring the field would open something: what it guards must not be served at all."""
    values: tuple[object, ...] = ()
    """Only these values are not served; empty for all of them."""
    instead: str = ""
    """Why the field will never have an effect, and what to use instead; empty: not served yet."""

    def covers(self, value: object) -> bool:
        """Whether this value is one that is not served."""
        return not self.values or value in self.values


class UnservedField(NamedTuple):
    """A marked field that an object sets."""

    path: str
    """As users write it: `spec.routes[1].services[0].validation`."""
    guards: bool
    why: str = "not served yet"


def unserved(obj: object) -> tuple[UnservedField, ...]:
    """Every marked field that the object sets to something else than its default, in order."""
    return tuple(
        UnservedField(it.path, it.mark.guards, it.mark.instead or "not served yet")
        for it in shape.marked(obj, Unserved)
        if it.value != it.default and it.mark.covers(it.value)
    )
