"""Limits how many lines are printed per second. Pure: the caller passes the time.

Up to `LINES` are printed in a second; further lines are only counted, and one line with the counts
follows when the second is over.
"""

from collections import Counter

from contour.console.terminal import Mark

LINES = 20
SECOND = 1.0

Line = tuple[Mark, str]

_NOUNS: dict[Mark, str] = {
    "bad": "with problems",
    "good": "valid again",
    "changed": "changed",
    "new": "new",
    "gone": "removed",
    "note": "with a remark",
}


class Pace:
    """The lines of one second."""

    def __init__(self) -> None:
        self._began = float("-inf")
        self._said = 0
        self._counted: Counter[Mark] = Counter()

    def admits(self, mark: Mark, now: float) -> bool:
        """Whether a line may be printed now; otherwise it is counted."""
        if now - self._began >= SECOND and not self._counted:
            self._began, self._said = now, 0
        if self._said < LINES - 1:  # the last one is for the counts
            self._said += 1
            return True
        self._counted[mark] += 1
        return False

    @property
    def due(self) -> float | None:
        """When the counts are to be printed; None if nothing was counted."""
        return self._began + SECOND if self._counted else None

    def summary(self, now: float) -> str:
        """The counts, which are reset: `and 480 more: 400 changed, 80 with problems`."""
        counted, self._counted = self._counted, Counter()
        self._began, self._said = now, 1
        parts = [f"{count} {_NOUNS.get(mark, 'more')}" for mark, count in counted.most_common()]
        return f"and {counted.total()} more: {', '.join(parts)} (contour status shows all)"
