"""What is wrong with the answers of one extension, as its author is told."""

from contour.hooks.replies import Failure


class Troubles:
    """By the keys of the questions."""

    def __init__(self) -> None:
        self._silent: dict[bytes, str] = {}
        self._unstable: set[bytes] = set()
        self._is_turned = False

    def turn(self) -> None:
        """Something else has changed that is told."""
        self._is_turned = True

    def forget(self, key: bytes) -> None:
        """Nobody wants to know it any more."""
        self.note_reply(key)
        self.note_steady(key)

    def note_silence(self, key: bytes, why: str) -> None:
        """There is no reply."""
        self._is_turned |= self._silent.get(key) != why
        self._silent[key] = why

    def note_reply(self, key: bytes) -> None:
        """There is a reply."""
        self._is_turned |= self._silent.pop(key, None) is not None

    def note_other(self, key: bytes) -> None:
        """The question was answered twice, each time otherwise."""
        self._is_turned = True
        self._unstable.add(key)

    def note_steady(self, key: bytes) -> None:
        """The question was answered as before."""
        self._is_turned |= key in self._unstable
        self._unstable.discard(key)

    def turned(self, away: Failure | None, asked: int) -> tuple[str, ...] | None:
        """What is wrong with an extension that is asked so many questions; None if that has not
        changed since the last call."""
        if not self._is_turned:
            return None
        self._is_turned = False
        found: list[str] = []
        if away is not None:
            found.append(f"does not answer: {words(away)}")
        elif self._silent:
            why = self._silent[min(self._silent)]
            found.append(f"{len(self._silent)} of {asked} questions fail: it {why}")
        if self._unstable:
            number = len(self._unstable)
            found.append(f"answers {number} equal questions differently; the first answers stay")
        return tuple(found)


def words(found: Failure) -> str:
    """A failure in one line."""
    return f"{found.reason}: {found.message}" if found.message else found.reason
