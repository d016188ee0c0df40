"""What is wrong with a manifest, and where: its file, line and field.

A complaint belongs to a subject: the object that it is about, or, if no object can be identified, a
file or an unknown kind. Consumers keep the complaints of each subject; a batch replaces all of
them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NewType

from crds import meta
from dag.problems.reasons import CommandLine, Word

Severity = Literal["error", "warning"]

ManifestSource = NewType("ManifestSource", str)
"""A file or folder as the user named it, or an unknown kind: `kind Deployment of apps/v1`."""

Subject = meta.ObjectRef | ManifestSource


def shown(text: str) -> str:
    """Text with the name of a file, for people: bytes of the name that are no UTF-8, and that no
    JSON can have, are escapes."""
    return text.encode(errors="backslashreplace").decode()


class Place(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int


Locate = Callable[[meta.ObjectRef, str], Place | None]
"""Finds the place of a field of an object, by the path of the field; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Complaints that differ only in the line are equal: a document that moved has no new ones."""

    file: str
    source: str = field(init=False, compare=False)  # the file as the system names it
    line: int = field(compare=False)  # counted from 1; 0 if it is about the file as such
    subject: Subject
    field: str  # `spec.routes[0].services[1].port`, empty for the whole document
    message: str
    severity: Severity
    is_unreadable: bool = False
    """The document or file cannot be read at all, so nobody knows what it says."""
    is_of_another: bool = False
    """It is about another definition of the object than the one that counts."""

    def __post_init__(self) -> None:
        """What is told can be shown."""
        object.__setattr__(self, "source", self.file)
        object.__setattr__(self, "file", shown(self.file))
        object.__setattr__(self, "message", shown(self.message))

    @property
    def reason(self) -> Word:
        """The kind of fault."""
        if self.is_unreadable:
            return CommandLine.UnreadableFile
        if self.severity == "error":
            return CommandLine.InvalidDocument
        is_kind = not isinstance(self.subject, meta.ObjectRef) and self.field.endswith("kind")
        return CommandLine.UnknownKind if is_kind else CommandLine.NoEffect

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        about = str(self.subject) if isinstance(self.subject, meta.ObjectRef) else ""
        return ": ".join(part for part in (place, about, self.field, self.message) if part)
