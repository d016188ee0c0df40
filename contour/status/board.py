"""The board: the present status of every object, the complaints about files, and one row for each.

`contour status` shows it as a table, `contour translate --to status` as a stream of objects. It is
updated with changes, so it never walks all objects; only a listing does. Elsewhere: the text of a
row (`rows`), and why an object has no status (`unserved`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contour.answers.subjects import FILE
from contour.complaints import Complaint, ManifestSource
from contour.status import rendering, rows
from contour.status.rows import Row, Told
from crds.kinds import KINDS, Kind
from crds.meta import ObjectRef
from crds.raw import Raw
from dag import statuses

KEPT = "newest version refused"
"""The summary of an object of which an older version is served."""
_SEVERAL = "defined more than once"


class Remark(NamedTuple):
    """A remark about the newest version of an object, made before any rule saw it."""

    severity: Literal["error", "warning"]  # an error: the version was not taken
    message: str
    complaint: Complaint | None = None
    """The complaint of the provider, if the remark comes from it."""

    @property
    def is_of_another(self) -> bool:
        """It is about another definition of the object, and the one that counts was taken."""
        return self.complaint is not None and self.complaint.is_of_another

    @property
    def told(self) -> Told:
        """The remark as a part of a row."""
        it = self.complaint
        if it is None:
            return rows.of_text(self.message, self.severity)
        return Told(
            self.message, it.severity, it.message, "", it.reason, it.field, it.file, it.line
        )


@dataclass(slots=True)
class Board:
    """The newest status of every object, and the remarks on it."""

    told: dict[ObjectRef, statuses.Status] = field(default_factory=dict)
    remarks: dict[ObjectRef, dict[str, tuple[Remark, ...]]] = field(default_factory=dict)
    files: dict[ManifestSource, tuple[Complaint, ...]] = field(default_factory=dict)
    """Complaints about files, and about documents of kinds that are not read."""
    unread: set[ObjectRef] = field(default_factory=set)
    """Objects of which no version could be read, except for what they are attached to."""
    replaced: int = 0
    """How often remarks and complaints were replaced, which need not change any status."""

    def put(self, subject: ObjectRef, found: statuses.Status | None) -> None:
        """Sets the status of an object; None: the object is gone."""
        if found is None:
            self.told.pop(subject, None)
        else:
            self.told[subject] = found

    def remark(self, subject: ObjectRef, source: str, remarks: tuple[Remark, ...]) -> None:
        """Replaces the remarks of one source about an object."""
        self.replaced += bool(remarks) or subject in self.remarks
        if remarks:
            self.remarks.setdefault(subject, {})[source] = remarks
        elif subject in self.remarks:
            self.remarks[subject].pop(source, None)
            if not self.remarks[subject]:
                del self.remarks[subject]

    def note_unread(self, subject: ObjectRef, is_unread: bool) -> None:
        """Notes whether an object has a version that could be read."""
        (self.unread.add if is_unread else self.unread.discard)(subject)

    def complain(self, place: ManifestSource, complaints: tuple[Complaint, ...]) -> None:
        """Replaces the complaints about a file, or about the documents of a kind."""
        self.replaced += 1
        if complaints:
            self.files[place] = complaints
        else:
            self.files.pop(place, None)

    def faults(self, subject: ObjectRef) -> tuple[str, ...]:
        """Why the newest version of an object was not taken; empty if it was."""
        remarks = self.remarks.get(subject, {}).values()
        return tuple(it.message for of in remarks for it in of if it.severity == "error")

    def rows(self) -> Iterator[Row]:
        """One row for each object with a status or a remark, sorted."""
        for subject in sorted(self.told.keys() | self.remarks.keys()):
            yield self.row(subject)

    def file_rows(self) -> Iterator[Row]:
        """One row for each file with complaints that belong to no object, sorted."""
        found: dict[str, list[Told]] = {}
        for complaints in self.files.values():
            for it in complaints:
                found.setdefault(it.file, []).append(Remark(it.severity, str(it), it).told)
        for file, told in sorted(found.items()):
            yield Row(_of_file(file), rows.worst(told), rows.of_count(told), tuple(told))

    def sources(self) -> dict[str, str]:
        """The files of `file_rows`, as they are shown and as the system names them."""
        return {it.file: it.source for complaints in self.files.values() for it in complaints}

    def row(self, subject: ObjectRef) -> Row:
        """The row of an object; "ok" if nothing is known about it."""
        found = self.told.get(subject)
        state, summary, told = rows.judged(found)
        said = [it for of in self.remarks.get(subject, {}).values() for it in of]
        remarks = [it.told for it in said]
        told = (*remarks, *(it for it in told if not _is_placed(it, remarks)))
        if errors := [it for it in said if it.severity == "error"]:
            is_kept = found is not None and subject not in self.unread
            refused = KEPT if is_kept else "invalid"
            is_taken = all(it.is_of_another for it in errors)
            return Row(subject, "error", _SEVERAL if is_taken else refused, told)
        if remarks and state == "ok":
            state = "warning"
        return Row(subject, state, summary, told)

    def objects(self, generations: dict[ObjectRef, int]) -> Iterator[tuple[ObjectRef, Raw]]:
        """Every object that gets a status, as a Kubernetes object without its specification.

        An object without a valid version is among them; its `problems` say why.
        """
        refused = {it for it in self.remarks if it.kind in _KINDS and self.faults(it)}
        for subject in sorted(self.told.keys() | refused):
            yield subject, self._object(subject, generations.get(subject, 0))

    def _object(self, subject: ObjectRef, generation: int) -> Raw:
        found, faults = self.told.get(subject), self.faults(subject)
        shown: Raw = {
            "apiVersion": _api_version(subject.kind),
            "kind": subject.kind,
            "metadata": _metadata(subject),
            "status": rendering.status(found, generation) if found else {},
        }
        problems, warnings = list(faults), []
        if isinstance(found, statuses.EventStatus):
            told = rows.judged(found)[2]
            said = [it.text for it in told if it.severity == "error"]
            problems = [it for it in faults if not _is_said(it, told)] + said
            warnings = [it.text for it in told if it.severity == "warning"]
        beside = {"problems": problems, "warnings": warnings}
        return shown | {name: lines for name, lines in beside.items() if lines}


def _is_said(message: str, told: Iterable[Told]) -> bool:
    """Whether the status already contains a message."""
    return any(message in it.text for it in told)


def _is_placed(told: Told, said: Iterable[Told]) -> bool:
    """Whether a remark says the same, with its file and line."""
    rest = told.text.partition(": ")[2]
    return bool(rest) and any(it.text.endswith(f": {rest}") or it.text in rest for it in said)


def _of_file(name: str) -> ObjectRef:
    return ObjectRef(FILE, "", name)


def _metadata(subject: ObjectRef) -> dict[str, str]:
    return {"name": subject.name} | ({"namespace": subject.namespace} if subject.namespace else {})


def _api_version(kind: str) -> str:
    return _KINDS[kind].api_version


_KINDS: dict[str, Kind] = {found.kind: found for found in KINDS.values()}
