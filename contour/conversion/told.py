"""The result of a conversion: documents, and messages about them."""

from dataclasses import dataclass, field
from typing import NamedTuple

Document = dict[str, object]
"""A manifest, or a part of one, as plain data."""


class Told(NamedTuple):
    """A message about something that was not, or not exactly, converted."""

    subject: str
    """The object, such as `Ingress shop/web`, or the file."""
    field: str
    """The annotation or setting; empty for the object as a whole."""
    text: str
    is_left_out: bool = False
    """Whether the object, or this part of it, was not converted because of it."""

    def __str__(self) -> str:
        severity = "error" if self.is_left_out else "warning"
        place = f"{self.subject}: {self.field}" if self.field else self.subject
        return f"{severity}: {place}: {self.text}"


@dataclass(slots=True)
class Converted:
    """Documents to apply, in order, and the messages about them."""

    documents: list[Document] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    is_incomplete: bool = False
    """Whether something was left out that is reported elsewhere, such as an object with errors."""
    is_unreadable: bool = False
    """Whether a part of the input could not be read, which `told` says."""
