"""The content of one document: its objects, each with its subject and its problems.

Complaints about a document always have a subject: the object that it defines; if it cannot be read,
the object that it looks like; else its file. Lines are looked up only for complaints. `crds.decode`
validates objects. An unknown field is an error, as for `kubectl apply`, since its setting would
have no effect. Elsewhere: objects that several documents define (`claims`).
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from contour.complaints import ManifestSource, Severity, Subject
from contour.files import guess, lines, parse, upstream
from crds import complaints, decode, foreign, kinds, meta
from crds.complaints import dotted
from crds.raw import is_mapping

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
    told: Literal["yes", "guessed", "no"] = "yes"  # whether the document itself names its subject
    kind: kinds.Kind | None = None
    object: Any | None = None  # None if it is broken, or of a kind that is not read
    problems: tuple[LocatedComplaint, ...] = ()
    field: str = ""  # of the document, if the object is an item of a list
    is_read: bool = True  # whether the document could be read, with or without errors


def items(file: ManifestSource, raw: bytes, *, lenient: bool = False) -> Iterator[Item]:
    """The objects of a document; one item if it cannot be read, none if it is empty.

    Lenient: unknown fields are warnings, and are left out of the objects.
    """
    try:
        value = parse.value(raw)
    except parse.MalformedError as error:
        yield _malformed(file, raw, error)
        return
    if value is not None:
        at = lines.Lines(raw)
        for path, item in _listed(value):
            yield from _items(file, at, path, item, lenient=lenient)


def _malformed(file: ManifestSource, raw: bytes, error: parse.MalformedError) -> Item:
    problem = LocatedComplaint(error.line, "", error.message, "error")
    if (guessed := guess.subject(raw)) is not None:
        return Item(guessed, "guessed", problems=(problem,), is_read=False)
    return _unread(file, (problem,))


def _unread(file: ManifestSource, problems: tuple[LocatedComplaint, ...]) -> Item:
    return Item(file, "no", problems=problems, is_read=False)


def _listed(value: object) -> Iterator[tuple[FieldPath, object]]:
    """The objects of a list, with the paths of their fields; of any other document only itself."""
    for index, item in enumerate(decode.items(value)):
        yield (() if item is value else ("items", index)), item


def _items(
    file: ManifestSource, at: lines.Lines, path: FieldPath, value: object, *, lenient: bool
) -> Iterator[Item]:
    decoded = decode.decode(value)
    if isinstance(decoded, decode.NotAnObject):
        yield _unread(file, _problems(at, [(path, decoded.message, "error")]))
    elif isinstance(decoded, decode.UnknownKind):
        yield _unknown(at, path, value, decoded)
        yield from _of_extension(file, at, path, value, decoded)
    else:
        yield _item(file, at, path, value, decoded, lenient=lenient)


def _item(
    file: ManifestSource,
    at: lines.Lines,
    path: FieldPath,
    value: object,
    decoded: decode.Decoded,
    *,
    lenient: bool,
) -> Item:
    unread = () if lenient else tuple(_errors(decoded))
    found: list[tuple[FieldPath, str, Severity]] = [
        ((*path, *it.path), it.message, "error" if it in unread else it.severity)
        for it in decoded.complaints
    ]
    if decoded.kind.kind == "ConfigMap" and is_mapping(value):
        of_file = upstream.of_config_map(value)
        found.extend(((*path, *field), text, "warning") for field, text in of_file)
    problems = _problems(at, found)
    if not decoded.key.name:
        return _unread(file, problems)
    subject = meta.ObjectRef(decoded.kind.kind, *decoded.key)
    good = decoded.object
    if unread and is_mapping(value):
        good = decode.stand_in(decoded.kind, value)
    is_read = not any(it.path == ("apiVersion",) for it in decoded.errors)
    return Item(subject, "yes", decoded.kind, good, problems, dotted(path), is_read)


def _errors(decoded: decode.Decoded) -> Iterator[complaints.Complaint]:
    """The unknown fields for which an object is refused.

    In the Gateway API, unknown fields are accepted, since every release adds some, unless the name
    is almost that of a known field, which means a typing error.
    """
    for it in decoded.complaints:
        is_unknown = it.severity == "warning"
        if is_unknown and (decoded.kind.group != kinds.GATEWAY or _is_typo(it)):
            yield it


def _is_typo(unknown: complaints.Complaint) -> bool:
    written = str(unknown.path[-1])[:100]
    return difflib.SequenceMatcher(None, written, unknown.meant).ratio() >= _TYPO


_TYPO = 0.8
"""The similarity (`difflib`) from which a name counts as misspelt."""


def _unknown(at: lines.Lines, path: FieldPath, value: object, unknown: decode.UnknownKind) -> Item:
    """The item for a kind that is not read; if that is a known kind, misspelt, the object may be
    meant to stay."""
    if (meant := guess.misspelt(unknown, value)) is not None:
        message = f"there is no kind {unknown.kind}; did you mean {meant.kind}?"
        problems = _problems(at, [((*path, "kind"), message, "error")])
        return Item(meant, "guessed", problems=problems, is_read=False)
    about = place(unknown.kind, unknown.group_version)
    message = (
        f"{unknown.group_version} {unknown.kind} is not supported; its objects are ignored"
        f"{guess.same_kind(unknown)}"
    )
    found: list[tuple[FieldPath, str, Severity]] = [((*path, "kind"), message, "warning")]
    if unknown.kind == "ContourDeployment" and is_mapping(value):
        settings = upstream.of_deployment(value)
        found.extend(((*path, *field), text, "warning") for field, text in settings)
    return Item(about, problems=_problems(at, found))


def place(kind: str, group_version: str) -> ManifestSource:
    """The subject of the complaint that a kind is not read."""
    return ManifestSource(f"kind {kind} of {group_version}")


def _of_extension(
    file: ManifestSource,
    at: lines.Lines,
    path: FieldPath,
    value: object,
    unknown: decode.UnknownKind,
) -> Iterator[Item]:
    """The same object as one of an extension's kind. `store` knows whether an extension has
    registered the kind: then this item is used, otherwise the one which says that the kind is not
    supported."""
    group, _, version = unknown.group_version.rpartition("/")
    if foreign.is_native(group) or not is_mapping(value):
        return
    kind = foreign.kind(group, version, unknown.kind)
    decoded = foreign.decoded(kind, value)
    problems = _problems(at, [((*path, *it.path), it.message, "error") for it in decoded.errors])
    if decoded.key.name:
        subject = meta.ObjectRef(kind.kind, *decoded.key)
        yield Item(subject, "yes", kind, decoded.object, problems, dotted(path))
    else:
        yield Item(file, "no", kind, problems=problems, is_read=False)


def _problems(
    at: lines.Lines, found: Sequence[tuple[FieldPath, str, Severity]]
) -> tuple[LocatedComplaint, ...]:
    if not found:
        return ()
    numbers = at.found([path for path, _, _ in found])
    return tuple(
        LocatedComplaint(line, dotted(path), message, severity)
        for line, (path, message, severity) in zip(numbers, found, strict=True)
    )
