"""What time does to certificates in use: rows for the graph, which has no clock.

A row says that a certificate does not hold yet, comes near its end, or has ended. It is written
when the certificate is first used, and again at the moments when that changes; in between nothing
is looked at. Every replica does it by its own clock, the leader's is told. Elsewhere: which moments
these are, and the words (`dag.warnings.validity`).
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime

from dag.warnings.validity import Held, Phase, Validity

Clock = Callable[[], datetime]
Write = Callable[[Held, Phase | None], None]
"""Takes what there is to tell of certificates now."""

LONGEST_SLEEP = 60.0
"""Seconds. The clock of a machine may be set, and a certificate with less time may come."""


def utc() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


class Aging:
    """The certificates in use, and when there will be something else to tell of each."""

    def __init__(self, write: Write, now: Clock = utc) -> None:
        self._write = write
        self._now = now
        self._known: dict[Held, Validity] = {}
        self._told: dict[Held, Phase] = {}
        self._due: list[tuple[datetime, Held]] = []
        self._scheduled: set[tuple[datetime, Held]] = set()

    def note(self, held: Held, found: Validity | None) -> bool:
        """Certificates are in use, in use no more, or others; whether something else is told."""
        if found is None:
            self._known.pop(held, None)
            return self._tell(held, None)
        self._known[held] = found
        return self._look(held, found, self._now())

    def turn(self) -> bool:
        """Tells what has become due; whether there was anything."""
        now, changed = self._now(), False
        while self._due and self._due[0][0] <= now:
            moment, held = entry = heapq.heappop(self._due)
            self._scheduled.discard(entry)
            found = self._known.get(held)
            if found is not None and moment in found.moments:
                changed |= self._look(held, found, now)
        return changed

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        if not self._due:
            return LONGEST_SLEEP
        return min(max((self._due[0][0] - self._now()).total_seconds(), 0.0), LONGEST_SLEEP)

    def _look(self, held: Held, found: Validity, now: datetime) -> bool:
        moment = found.changes(now)
        if moment is not None and (moment, held) not in self._scheduled:
            self._scheduled.add((moment, held))
            heapq.heappush(self._due, (moment, held))
        return self._tell(held, found.phase(now))

    def _tell(self, held: Held, phase: Phase | None) -> bool:
        if self._told.get(held) == phase:
            return False
        if phase is None:
            del self._told[held]
        else:
            self._told[held] = phase
        self._write(held, phase)
        return True
