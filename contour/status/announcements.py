"""Events about objects, by the leader: new problems, and that all are solved.

Problems in a status are reported when the status has been written, so only changes are: a new
leader that finds ten thousand correct statuses sends no Event. Of an object with many problems the
first few are reported, and the number of the others. An Ingress has no conditions, and a version
that cannot be read has no status: these problems are in no status, so their Events are repeated
from time to time, because Events expire. The same holds for a Service whose resources gRPC
applications refuse. There are no Events for Secrets, but for the objects that use them.
`kube.events` limits the number of Events.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from contour.status.board import Board
from contour.status.troubles import Trouble, troubles
from contour.status.update import WRITTEN, Outcome
from crds.kinds import KINDS
from crds.meta import ObjectRef
from dag import statuses
from dag.problems.reasons import Contour
from kube.events import Occurrence, Regarding

TOLD_AGAIN = 1800.0  # seconds; the API server forgets Events after an hour

Record = Callable[[Occurrence], None]
Uid = Callable[[ObjectRef], str]
"""The uid of an object; empty if it does not exist."""


class Announcements:
    """The problems that were reported in this term, by object."""

    def __init__(self, board: Board, record: Record, uid: Uid) -> None:
        self._board = board
        self._record = record
        self._uid = uid
        self._standing: dict[ObjectRef, frozenset[Occurrence]] = {}
        self._troubles: dict[ObjectRef, tuple[Trouble, ...]] = {}  # as in the written statuses
        self._is_running = False

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """The problems of these objects may have changed."""
        if self._is_running:
            for it in subjects:
                self._tell(it)

    def written(self, subject: ObjectRef, outcome: Outcome) -> None:
        """Takes a processed status. Problems that were already in the status have been reported
        before.

        Only a leader writes statuses, so this works even before `run` has begun.
        """
        before, uid = self._troubles.pop(subject, ()), self._uid(subject)
        if not uid:
            return
        now = troubles(self._board.told.get(subject))
        if now:
            self._troubles[subject] = now
        if outcome not in WRITTEN:
            return
        news = [_occurrence(subject, uid, "Warning", it) for it in now if it not in before]
        for it in _bounded(news, "see the status"):
            self._record(it)
        if before and not now:
            self._record(_occurrence(subject, uid, "Normal", _SOLVED))

    async def run(self) -> None:
        """Runs for one term; problems without a status are reported at its start, and again from
        time to time."""
        self._is_running = True
        try:
            while True:
                self._standing.clear()
                self.notice(tuple(self._board.told.keys() | self._board.remarks.keys()))
                await asyncio.sleep(TOLD_AGAIN)
        finally:
            self._is_running = False
            self._standing.clear()
            self._troubles.clear()

    def _tell(self, subject: ObjectRef) -> None:
        before = self._standing.pop(subject, frozenset())
        uid = self._uid(subject)
        if not uid:
            return
        standing = tuple(dict.fromkeys(self._problems(subject, uid)))
        news = [it for it in standing if it not in before]
        for it in _bounded(news, "`contour status` shows all"):
            self._record(it)
        if standing:
            self._standing[subject] = frozenset(standing)
        elif before:
            self._record(_occurrence(subject, uid, "Normal", _SOLVED))

    def _problems(self, subject: ObjectRef, uid: str) -> Iterator[Occurrence]:
        told = self._board.told.get(subject)
        for it in _told(told):
            yield _occurrence(subject, uid, "Warning", (it.reason, it.message))
        if subject.kind == "Secret":
            return
        for remark in self._board.remarks.get(subject, {}).get("document", ()):
            if remark.severity == "error":
                yield _occurrence(subject, uid, "Warning", ("NotTaken", remark.message))


MOST_AT_ONCE = 5
"""The most Events about new problems of one object."""

_SOLVED = Trouble(Contour.Valid.value, "all problems are solved")


def _bounded(found: Sequence[Occurrence], where: str) -> Sequence[Occurrence]:
    """The first ones; the last of them says how many more there are, and where."""
    if len(found) <= MOST_AT_ONCE:
        return found
    first, last = found[: MOST_AT_ONCE - 1], found[MOST_AT_ONCE - 1]
    rest = len(found) - MOST_AT_ONCE
    return [*first, last._replace(note=f"{last.note}; and {rest} more; {where}")]


def _told(found: statuses.Status | None) -> tuple[statuses.SubCondition, ...]:
    """The problems that have no place in the status itself."""
    if not isinstance(found, statuses.EventStatus):
        return ()
    return (*found.problems, *found.warnings)


def _occurrence(
    subject: ObjectRef, uid: str, type_: Literal["Normal", "Warning"], said: Sequence[str]
) -> Occurrence:
    regarding = Regarding(_API_VERSIONS[subject.kind], *subject, uid)
    return Occurrence(regarding, type_, said[0], "Validate", said[1])


_API_VERSIONS = {it.kind: it.api_version for it in KINDS.values()}
