"""What is wrong with the answers of one extension, as reported to its author."""

from collections.abc import Iterator

from contour.hooks.replies import Failure
from dag import hookservers

_MOST_REMARKS = 10
"""How many different remarks are reported."""


class Troubles:
    """What is wrong, by the keys of the questions."""

    def __init__(self) -> None:
        self._silent: dict[bytes, str] = {}
        self._unstable: set[bytes] = set()
        self._remarks: dict[bytes, tuple[str, ...]] = {}
        self._is_changed = False

    def mark_changed(self) -> None:
        """Something else that is reported has changed."""
        self._is_changed = True

    def forget(self, key: bytes) -> None:
        """The question is no longer needed."""
        self.note_reply(key)
        self.note_steady(key)
        self.note_remarks(key, ())

    def note_silence(self, key: bytes, why: str) -> None:
        """There is no reply."""
        self._is_changed |= self._silent.get(key) != why
        self._silent[key] = why

    def note_reply(self, key: bytes) -> None:
        """There is a reply."""
        self._is_changed |= self._silent.pop(key, None) is not None

    def note_other(self, key: bytes) -> None:
        """The question was answered twice, with different answers."""
        self._is_changed = True
        self._unstable.add(key)

    def note_steady(self, key: bytes) -> None:
        """The question was answered as before."""
        self._is_changed |= key in self._unstable
        self._unstable.discard(key)

    def note_remarks(self, key: bytes, found: tuple[str, ...]) -> None:
        """Takes the remarks about the newest reply."""
        if found != self._remarks.get(key, ()):
            self._is_changed = True
            self._remarks.pop(key, None)
            if found:
                self._remarks[key] = found

    def take_changes(self, away: Failure | None, asked: int) -> hookservers.Troubles | None:
        """What is wrong with an extension that has been asked `asked` questions; None if that has
        not changed since the last call."""
        if not self._is_changed:
            return None
        self._is_changed = False
        remarks = sorted({it for each in self._remarks.values() for it in each})
        return hookservers.Troubles(
            tuple(self._errors(away, asked)), tuple(remarks[:_MOST_REMARKS])
        )

    def _errors(self, away: Failure | None, asked: int) -> Iterator[str]:
        if away is not None:
            yield f"does not answer: {words(away)}"
        elif self._silent:
            why = self._silent[min(self._silent)]
            yield f"{len(self._silent)} of {asked} questions fail: it {why}"
        if self._unstable:
            number = len(self._unstable)
            yield f"answers {number} equal questions differently; the first answers stay"


def words(found: Failure) -> str:
    """A failure in one line."""
    return f"{found.reason}: {found.message}" if found.message else found.reason
