"""The validity of certificates in use as time passes: rows for the graph, which has no clock.

A row says that a certificate is not valid yet, expires soon, or has expired. It is written when the
certificate is first used, and again at the moments when that changes; in between nothing is
checked. Every replica does this by its own clock; statuses show what the leader found. Elsewhere:
which moments these are, and the messages (`dag.warnings.validity`).
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime

from dag.warnings.validity import Held, Phase, Validity

Clock = Callable[[], datetime]
Write = Callable[[Held, Phase | None], None]
"""Takes certificates and the phase of their validity to report; None: there is nothing to report.
"""

LONGEST_SLEEP = 60.0
"""Seconds. The clock of the machine may be changed, or a certificate that expires sooner may be
added."""


def utc() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


class Aging:
    """The certificates in use, and when the phase of each changes."""

    def __init__(self, write: Write, now: Clock = utc) -> None:
        self._write = write
        self._now = now
        self._known: dict[Held, Validity] = {}
        self._reported: dict[Held, Phase] = {}
        self._next: dict[Held, datetime] = {}
        self._due: list[tuple[datetime, Held]] = []  # a heap of these; some have been replaced
        self._latest = datetime.min.replace(tzinfo=UTC)  # that the clock has shown

    def note(self, held: Held, found: Validity | None) -> bool:
        """Takes certificates that are in use, changed, or (None) no longer used. Returns whether
        the phase to report changed."""
        if found is None:
            self._known.pop(held, None)
            self._next.pop(held, None)
            return self._report(held, None)
        self._known[held] = found
        now = self._now()
        self._latest = max(self._latest, now)
        return self._check(held, found, now)

    def update(self) -> bool:
        """Writes the phases that have changed by now. Returns whether there were any."""
        now, changed = self._now(), False
        if now < self._latest:  # it was set back
            for held, found in self._known.items():
                changed |= self._check(held, found, now)
        self._latest = now
        while self._due and self._due[0][0] <= now:
            moment, held = heapq.heappop(self._due)
            if self._next.get(held) == moment:
                changed |= self._check(held, self._known[held], now)
        return changed

    @property
    def pause(self) -> float:
        """Seconds until the next check."""
        if not self._due:
            return LONGEST_SLEEP
        return min(max((self._due[0][0] - self._now()).total_seconds(), 0.0), LONGEST_SLEEP)

    def _check(self, held: Held, found: Validity, now: datetime) -> bool:
        moment = found.changes(now)
        if moment is None:
            self._next.pop(held, None)
        elif self._next.get(held) != moment:
            self._schedule(held, moment)
        return self._report(held, found.phase(now))

    def _schedule(self, held: Held, moment: datetime) -> None:
        """Moments of certificates that were replaced stay in the heap while they are the fewer."""
        self._next[held] = moment
        heapq.heappush(self._due, (moment, held))
        if len(self._due) > 2 * len(self._next):
            self._due = [(moment, held) for held, moment in self._next.items()]
            heapq.heapify(self._due)

    def _report(self, held: Held, phase: Phase | None) -> bool:
        if self._reported.get(held) == phase:
            return False
        if phase is None:
            del self._reported[held]
        else:
            self._reported[held] = phase
        self._write(held, phase)
        return True
