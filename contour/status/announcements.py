"""What goes wrong with an object and what is right again: as Events, by the leader.

What a status says is told when it has been written, so only what has changed is: a leader that
starts where ten thousand statuses stand as they should tells nothing. Of an object with many
problems the first few are told, and how many there are. An Ingress has no conditions, and a version
that cannot be read has no status of its own: these problems have no other place, so they are told
again from time to time, or they would be forgotten with their Event. The same holds for a Service
whose resources gRPC applications refuse. Of Secrets nothing is told, as
those who use one are. How many Events there may be is the recorder's matter (`kube.events`).
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
"""Of an object; empty if there is none."""


class Announcements:
    """What has been told of each object in this term."""

    def __init__(self, board: Board, record: Record, uid: Uid) -> None:
        self._board = board
        self._record = record
        self._uid = uid
        self._standing: dict[ObjectRef, frozenset[Occurrence]] = {}
        self._troubles: dict[ObjectRef, tuple[Trouble, ...]] = {}  # as statuses have told them
        self._is_running = False

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """What there is to tell of these may have changed."""
        if self._is_running:
            for it in subjects:
                self._tell(it)

    def written(self, subject: ObjectRef, outcome: Outcome) -> None:
        """The turn of a status is over; what stands there already was told before.

        Whoever writes statuses leads, also before everything else of a term has begun.
        """
        before, uid = self._troubles.pop(subject, ()), self._uid(subject)
        if not uid:
            return
        now = troubles(self._board.told.get(subject))
        if now:
            self._troubles[subject] = now
        if outcome not in WRITTEN:
            return
        news = [it for it in now if it not in before]
        for it in _bounded(news):
            self._record(_occurrence(subject, uid, "Warning", it))
        if before and not now:
            self._record(_occurrence(subject, uid, "Normal", _SOLVED))

    async def run(self) -> None:
        """For one term; all that stands is told at its start, and again and again."""
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
        standing = frozenset(self._problems(subject, uid))
        for it in sorted(standing - before):
            self._record(it)
        if standing:
            self._standing[subject] = standing
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
"""Events of one status."""

_SOLVED = Trouble(Contour.Valid.value, "all problems are solved")


def _bounded(found: Sequence[Trouble]) -> Sequence[Trouble]:
    if len(found) <= MOST_AT_ONCE:
        return found
    first, last = found[: MOST_AT_ONCE - 1], found[MOST_AT_ONCE - 1]
    rest = len(found) - MOST_AT_ONCE
    return [*first, last._replace(message=f"{last.message}; and {rest} more; see the status")]


def _told(found: statuses.Status | None) -> tuple[statuses.SubCondition, ...]:
    """What has no place in the status itself."""
    if not isinstance(found, statuses.EventStatus):
        return ()
    return (*found.problems, *found.warnings)


def _occurrence(
    subject: ObjectRef, uid: str, type_: Literal["Normal", "Warning"], said: Sequence[str]
) -> Occurrence:
    regarding = Regarding(_API_VERSIONS[subject.kind], *subject, uid)
    return Occurrence(regarding, type_, said[0], "Validate", said[1])


_API_VERSIONS = {it.kind: it.api_version for it in KINDS.values()}
