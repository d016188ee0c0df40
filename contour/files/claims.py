"""Which document owns an object that several documents define, and the complaints about each.

The first document, in the order of files and positions, owns the object. Which version is served
follows from that and from what was served before: if the owner is broken, its last good version
stays.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from contour.complaints import Complaint, ManifestSource, Subject
from contour.files import contents
from crds import kinds, meta


@dataclass(slots=True)
class Document:
    """One document of a file. It is read once, even if it moves within the file."""

    digest: bytes
    line: int
    position: int
    items: tuple[contents.Item, ...]


class Definition(NamedTuple):
    """The definition of a subject by one document of one file."""

    file: ManifestSource
    document: Document
    item: contents.Item

    @property
    def place(self) -> tuple[ManifestSource, int]:
        """The sort key of definitions: the first one owns the subject."""
        return self.file, self.document.position


class Served(NamedTuple):
    """The version of an object that consumers have."""

    file: ManifestSource
    kind: kinds.Kind
    object: Any


def served(claims: Sequence[Definition], before: Served | None) -> Served | None:
    """The version to serve of an object with these definitions, in order, at least one."""
    owner = claims[0]
    good = [claim for claim in claims if claim.item.object is not None]
    if good and (good[0] is owner or before is None):
        return _version(good[0])
    if before is not None and before.file != owner.file:
        # The owner never had a good version: the document that stands in for it is still followed.
        return next((_version(it) for it in good if it.file == before.file), before)
    return before


def _version(claim: Definition) -> Served:
    kind = claim.item.kind
    assert kind is not None, "only an object of a known kind is good"
    return Served(claim.file, kind, claim.item.object)


def complaints(subject: Subject, claims: Sequence[Definition]) -> Iterator[Complaint]:
    """What is wrong with a subject, from its definitions in order."""
    if not claims:
        return
    if isinstance(subject, meta.ObjectRef):
        yield from _problems(subject, claims[:1])
        yield from _duplicates(subject, claims)
    else:
        # An unknown kind is reported once; all problems of a file are reported.
        yield from _problems(subject, claims if claims[0].file == subject else claims[:1])


def _problems(subject: Subject, claims: Iterable[Definition]) -> Iterator[Complaint]:
    for file, document, item in claims:
        for line, field, message, severity in item.problems:
            place = document.line + line
            yield Complaint(
                file, place, subject, field, message, severity, is_unreadable=not item.is_read
            )


def _duplicates(subject: Subject, claims: Sequence[Definition]) -> Iterator[Complaint]:
    owner = claims[0]
    first = f"{owner.file}:{owner.document.line}"
    for file, document, item in claims[1:]:
        message = f"already defined at {first}; this one is ignored"
        told = (file, document.line, subject, item.field, message)
        yield Complaint(*told, "error", is_of_another=True)
