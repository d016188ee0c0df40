"""What extensions have been asked about hosts and listeners, on which the question about all
clusters depends: a sum for each extension of a fleet, and a row for each question that an answer
covers.

An edit costs only its own questions here, however many hosts there are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from contour.envoy.hooks import passed
from contour.envoy.hooks.passed import Asked, Remembered
from contour.envoy.hooks.questions import Question
from dag.engine.incremental import Engine

_BITS = 128
"""Of a question's key."""


class Memory:
    """The answered questions of all fleets. Hosts may share one; so questions are counted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._uses: Counter[Asked] = Counter()
        self._sums: defaultdict[Remembered, int] = defaultdict(int)
        self._numbers: Counter[Remembered] = Counter()
        self._changed: set[Remembered] = set()
        self._fresh: set[Asked] = set()
        """Answered, but not in the sums that are written."""
        self._open: defaultdict[str, set[Asked]] = defaultdict(set)
        """In the sums, but not covered by an answer about all clusters."""

    def note(self, fleet: str, old: Iterable[Question], new: Iterable[Question]) -> bool:
        """The answered questions of a host or listener have changed. Returns whether there are rows
        to write."""
        before, now = {it.key: it for it in old}, {it.key: it for it in new}
        for key in now.keys() - before.keys():
            self._count(fleet, now[key], +1)
        for key in before.keys() - now.keys():
            self._count(fleet, before[key], -1)
        return bool(self._changed)

    def cover(self, fleet: str) -> None:
        """There is an answer about all clusters of a fleet, made with the sums that are written."""
        for it in self._open.pop(fleet, ()):
            self._engine.write(passed.COVERED, it, True)

    def forget(self, fleet: str) -> None:
        """There is no answer about all clusters of a fleet any more."""
        for it in self._uses:
            if it.fleet == fleet and it not in self._fresh:
                self._open[fleet].add(it)
                self._engine.write(passed.COVERED, it, None)

    def flush(self) -> None:
        """Writes the sums that have changed."""
        changed, self._changed = self._changed, set()
        for at in changed:
            self._engine.write(passed.REMEMBERED, at, self._sums.get(at))
        fresh, self._fresh = self._fresh, set()
        for it in fresh:
            self._open[it.fleet].add(it)

    def _count(self, fleet: str, question: Question, step: int) -> None:
        asked, at = Asked(fleet, question.key), Remembered(fleet, question.server)
        self._changed.add(at)
        self._numbers[at] += step
        number = int.from_bytes(question.key, "big")
        self._sums[at] = (self._sums[at] + step * number) % (1 << _BITS)
        if not self._numbers[at]:
            del self._numbers[at], self._sums[at]
        self._uses[asked] += step
        if not self._uses[asked]:
            self._drop(asked)
        elif step > 0 and self._uses[asked] == 1:
            self._fresh.add(asked)

    def _drop(self, asked: Asked) -> None:
        del self._uses[asked]
        self._fresh.discard(asked)
        self._open[asked.fleet].discard(asked)
        self._engine.write(passed.COVERED, asked, None)
