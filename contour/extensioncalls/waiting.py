"""The questions to one extension that wait to be asked, and in which order."""

from collections.abc import Collection

from contour.envoy.hooks.questions import Question


class Waiting:
    """The keys of the questions. One that is under way may wait, to be asked again afterwards."""

    def __init__(self) -> None:
        self._urgent: dict[bytes, None] = {}
        self._later: dict[bytes, None] = {}
        self._last: dict[bytes, None] = {}
        """Questions about all clusters, which are asked when all others have been answered."""

    def put(self, question: Question, *, is_known: bool) -> None:
        """Adds a question; `is_known`: there is an answer from an earlier time."""
        known = self._later if is_known else self._urgent
        (self._last if question.hook == "Translation" else known)[question.key] = None

    def drop(self, key: bytes) -> None:
        """The question is no longer needed."""
        for it in (self._urgent, self._later, self._last):
            it.pop(key, None)

    def take(self, under_way: Collection[bytes]) -> bytes | None:
        """Removes and returns the next question that can be asked while these are under way."""
        every = [self._urgent, self._later]
        if not under_way:
            every.append(self._last)
        for waiting in every:
            key = next((it for it in waiting if it not in under_way), None)
            if key is not None:
                del waiting[key]
                return key
        return None

    def take_urgent(self, under_way: Collection[bytes]) -> list[bytes]:
        """Removes and returns the questions without an answer that are not under way."""
        found = [it for it in (*self._urgent, *self._last) if it not in under_way]
        for key in found:
            self.drop(key)
        return found
