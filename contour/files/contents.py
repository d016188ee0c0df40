"""What one document says: its objects, each with its subject and what is wrong with it.

A document always has a subject to complain about: the object it says it is; if it cannot be read,
the object that it looks like; else its file. Lines are looked up only where there is a complaint.
Validation is `crds.decode`; what becomes of an object that several documents define is `claims`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from contour.complaints import ManifestSource, Severity, Subject
from contour.files import guess, lines, parse
from crds import decode, kinds, meta
from crds.complaints import dotted

FieldPath = tuple[str | int, ...]


class LocatedComplaint(NamedTuple):
    """One complaint, with its line within the document."""

    line: int
    field: str
    message: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Item:
    """One object of a document."""

    subject: Subject
    told: Literal["yes", "guessed", "no"] = "yes"  # whether the document itself says its subject
    kind: kinds.Kind | None = None
    object: Any | None = None  # None if it is broken or of no kind that is read
    problems: tuple[LocatedComplaint, ...] = ()
    field: str = ""  # of the document, if the object is an item of a list


def items(file: ManifestSource, raw: bytes) -> Iterator[Item]:
    """The objects of a document; one item for a document that cannot be read, none for an empty."""
    try:
        value = parse.value(raw)
    except parse.MalformedError as error:
        yield _malformed(file, raw, error)
        return
    if value is not None:
        for path, item in _listed(value):
            yield _item(file, raw, path, item)


def _malformed(file: ManifestSource, raw: bytes, error: parse.MalformedError) -> Item:
    problem = LocatedComplaint(error.line, "", error.message, "error")
    if (guessed := guess.subject(raw)) is not None:
        return Item(guessed, "guessed", problems=(problem,))
    return Item(file, "no", problems=(problem,))


def _listed(value: object) -> Iterator[tuple[FieldPath, object]]:
    """A document that is itself the list's only item is no list."""
    for index, item in enumerate(decode.items(value)):
        yield (() if item is value else ("items", index)), item


def _item(file: ManifestSource, raw: bytes, path: FieldPath, value: object) -> Item:
    decoded = decode.decode(value)
    if isinstance(decoded, decode.NotAnObject):
        return Item(file, "no", problems=_problems(raw, [(path, decoded.message, "error")]))
    if isinstance(decoded, decode.UnknownKind):
        return _unknown(raw, path, value, decoded)
    found: list[tuple[FieldPath, str, Severity]] = [
        ((*path, *it.path), it.message, it.severity) for it in decoded.complaints
    ]
    problems = _problems(raw, found)
    if not decoded.key.name:
        return Item(file, "no", problems=problems)
    subject = meta.ObjectRef(decoded.kind.kind, *decoded.key)
    return Item(subject, "yes", decoded.kind, decoded.object, problems, dotted(path))


def _unknown(raw: bytes, path: FieldPath, value: object, unknown: decode.UnknownKind) -> Item:
    """A kind that is not read; if it is one that is, misspelt, the object may be meant to stay."""
    if (meant := guess.misspelt(unknown, value)) is not None:
        message = f"there is no kind {unknown.kind}; did you mean {meant.kind}?"
        return Item(
            meant, "guessed", problems=_problems(raw, [((*path, "kind"), message, "error")])
        )
    place = ManifestSource(f"kind {unknown.kind} of {unknown.group_version}")
    message = f"{unknown.group_version} {unknown.kind} is not supported; its objects are ignored"
    return Item(place, problems=_problems(raw, [((*path, "kind"), message, "warning")]))


def _problems(
    raw: bytes, found: Sequence[tuple[FieldPath, str, Severity]]
) -> tuple[LocatedComplaint, ...]:
    if not found:
        return ()
    at = lines.found(raw, [path for path, _, _ in found])
    return tuple(
        LocatedComplaint(line, dotted(path), message, severity)
        for line, (path, message, severity) in zip(at, found, strict=True)
    )
