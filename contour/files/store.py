"""The content of all files, and its changes since the last batch.

Each time a file is read, it is written here; objects that are no longer in it stay until the file
is released. A file with an unreadable document releases nothing, because that document may define
what is missing. Elsewhere: who owns an object (`claims`), and when to write and release
(`schedule`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from contour.complaints import Complaint, ManifestSource, Subject
from contour.events import Batch, Event
from contour.files import claims, contents, documents, registered
from crds import foreign, meta


class Store:
    """The content of all files: files are written, batches of changes are read."""

    def __init__(self, *, lenient: bool = False) -> None:
        self._is_lenient = lenient
        self._files: dict[ManifestSource, list[claims.Document]] = {}
        self._faults: dict[ManifestSource, str] = {}
        self._healed: list[ManifestSource] = []
        self._claims: dict[Subject, list[claims.Definition]] = {}
        self._waiting: dict[ManifestSource, set[meta.ObjectRef]] = {}
        self._leaving = Counter[meta.ObjectRef]()  # in how many of these sets each is
        self._served: dict[meta.ObjectRef, claims.Served] = {}
        self._said: dict[Subject, tuple[Complaint, ...]] = {}
        self._touched: dict[Subject, None] = {}  # a set that keeps the order
        self._registered = registered.Registered()

    def write(self, file: ManifestSource, texts: Iterable[documents.Text]) -> None:
        """Sets the documents of a file."""
        known = _by_digest(self._files.get(file, ()))
        now: list[claims.Document] = []
        fresh: list[claims.Document] = []
        for position, text in enumerate(texts):
            digest = text.digest
            if same := known.get(digest):
                document = same.pop()
                self._move(document, text.line, position)
            else:
                items = tuple(contents.items(file, text.raw, lenient=self._is_lenient))
                document = claims.Document(digest, text.line, position, items)
                fresh.append(document)
            now.append(document)
        self._replace(file, now)
        for left in known.values():
            self._withdraw(file, left)
        self._claim(file, fresh)

    def release(self, file: ManifestSource) -> None:
        """Removes objects that are no longer in the file, unless a broken document may still define
        them."""
        if not any(self._is_unclear(file, document) for document in self._files.get(file, ())):
            for subject in self._waiting.pop(file, ()):
                self._leaving[subject] -= 1
                if not self._leaving[subject]:
                    del self._leaving[subject]
                self._touched[subject] = None

    def fault(self, place: ManifestSource, message: str) -> None:
        """The file or folder cannot be read; its objects stay."""
        self._faults[place] = message
        self._touched[place] = None

    def mend(self, place: ManifestSource) -> None:
        """The file or folder can be read."""
        if self._faults.pop(place, None) is not None:
            self._touched[place] = None

    def heal(self, folder: ManifestSource) -> None:
        """The folder can be listed again, which is reported, as the fault was."""
        self.mend(folder)
        self._healed.append(folder)

    def batch(self) -> Batch:
        """What changed since the last batch."""
        events: list[Event] = []
        complaints: dict[Subject, tuple[Complaint, ...]] = {}
        fresh: list[Complaint] = []
        for subject in self._turns():
            claimed = self._claimed(subject)
            if isinstance(subject, meta.ObjectRef) and (event := self._event(subject, claimed)):
                events.append(event)
                self._registered.note(event)
            said, before = self._complaints(subject, claimed), self._said.get(subject, ())
            if _with_lines(said) != _with_lines(before):
                complaints[subject] = said
                fresh += [complaint for complaint in said if complaint not in before]
                self._say(subject, said)
        self._touched.clear()
        healed, self._healed = tuple(self._healed), []
        return Batch(tuple(events), complaints, tuple(fresh), healed)

    def _claimed(self, subject: Subject) -> list[claims.Definition]:
        """The documents of a subject, the owner first."""
        found = self._registered.counting(self._claims.get(subject, ()))
        return sorted(found, key=_place)

    def _turns(self) -> Iterator[Subject]:
        """The touched subjects; configurations first, since they register kinds."""
        configurations = [it for it in self._touched if _is_configuration(it)]
        yield from configurations
        if self._registered.take_changed():
            self._touched.update(dict.fromkeys(filter(self._is_unmodelled, self._claims)))
        yield from [it for it in self._touched if not _is_configuration(it)]

    def _is_unmodelled(self, subject: Subject) -> bool:
        """Whether documents of a subject may be of a kind that an extension brings."""
        kinds = (it.item.kind for it in self._claims[subject])
        return any(it is None or foreign.is_foreign(it) for it in kinds)

    def definition(self, subject: meta.ObjectRef) -> claims.Definition | None:
        """The document that owns an object; None if there is none. From any thread."""
        return min(list(self._claims.get(subject, ())), key=_place, default=None)

    def _move(self, document: claims.Document, line: int, position: int) -> None:
        """Notes the new place of a document, on which the order of definitions and the lines of
        complaints depend."""
        if document.line == line and document.position == position:
            return
        document.line, document.position = line, position
        for item in document.items:
            if item.problems or len(self._claims[item.subject]) > 1:
                self._touched[item.subject] = None

    def _replace(self, file: ManifestSource, now: list[claims.Document]) -> None:
        if now:
            self._files[file] = now
        else:
            self._files.pop(file, None)

    def _withdraw(self, file: ManifestSource, left: Iterable[claims.Document]) -> None:
        for document in left:
            for item in document.items:
                claimed = self._claims.get(item.subject, ())
                others = [it for it in claimed if it.document is not document]
                self._claims[item.subject] = others
                if not others:
                    del self._claims[item.subject]
                if isinstance(item.subject, meta.ObjectRef) and item.subject in self._served:
                    self._leave(file, item.subject)
                self._touched[item.subject] = None

    def _leave(self, file: ManifestSource, subject: meta.ObjectRef) -> None:
        waiting = self._waiting.setdefault(file, set())
        self._leaving[subject] += subject not in waiting
        waiting.add(subject)

    def _claim(self, file: ManifestSource, fresh: Iterable[claims.Document]) -> None:
        for document in fresh:
            for item in document.items:
                claim = claims.Definition(file, document, item)
                self._claims.setdefault(item.subject, []).append(claim)
                self._touched[item.subject] = None

    def _is_unclear(self, file: ManifestSource, document: claims.Document) -> bool:
        """Whether the object of a document is uncertain. A guess is certain if the file is known to
        have contained the object."""
        return any(
            item.told == "no" or (item.told == "guessed" and not self._is_from(file, item.subject))
            for item in document.items
            if self._registered.counts(item)
        )

    def _is_from(self, file: ManifestSource, subject: Subject) -> bool:
        served = self._served.get(subject) if isinstance(subject, meta.ObjectRef) else None
        return served is not None and served.file == file

    def _event(self, subject: meta.ObjectRef, claimed: list[claims.Definition]) -> Event | None:
        before = self._served.get(subject)
        if claimed:
            after = claims.served(claimed, before)
        else:
            after = before if self._is_waiting(subject) else None
        if after is before:
            return None
        if after is None:
            del self._served[subject]
            return Event(before.kind, subject.key, None) if before else None
        self._served[subject] = after
        if before and before.object == after.object:
            return None
        return Event(after.kind, subject.key, after.object)

    def _is_waiting(self, subject: meta.ObjectRef) -> bool:
        return subject in self._leaving

    def _complaints(
        self, subject: Subject, claimed: list[claims.Definition]
    ) -> tuple[Complaint, ...]:
        if isinstance(subject, meta.ObjectRef) and not claimed and self._is_waiting(subject):
            return self._said.get(subject, ())  # what is served until it is gone is no better
        found = tuple(claims.complaints(subject, claimed))
        if isinstance(subject, str) and (fault := self._faults.get(subject)):
            return (Complaint(subject, 0, subject, "", fault, "error", is_unreadable=True), *found)
        return found

    def _say(self, subject: Subject, said: tuple[Complaint, ...]) -> None:
        if said:
            self._said[subject] = said
        else:
            self._said.pop(subject, None)


def _by_digest(before: Iterable[claims.Document]) -> dict[bytes, list[claims.Document]]:
    """Equal documents in reverse, so that the first is taken first."""
    known: dict[bytes, list[claims.Document]] = {}
    for document in reversed(list(before)):
        known.setdefault(document.digest, []).append(document)
    return known


def _is_configuration(subject: Subject) -> bool:
    return isinstance(subject, meta.ObjectRef) and subject.kind == "ContourConfiguration"


def _place(claim: claims.Definition) -> tuple[ManifestSource, int]:
    return claim.place


def _with_lines(said: Iterable[Complaint]) -> list[tuple[Complaint, int]]:
    return [(complaint, complaint.line) for complaint in said]
