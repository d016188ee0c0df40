"""What objects are told that no status can tell: as Events, by the leader.

An Ingress has no conditions, so each of its problems is an Event, and so is the end of the last
one. A version of any object that cannot be read is told to its author in the same way; of Secrets
nothing is told, as those who use one are. What goes on is told again from time to time, or it would
be forgotten with its Event.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from contour.status.board import Board
from crds.kinds import KINDS
from crds.meta import ObjectRef
from dag import statuses
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
        self._is_running = False

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """What there is to tell of these may have changed."""
        if self._is_running:
            for it in subjects:
                self._tell(it)

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
            self._record(_occurrence(subject, uid, "Normal", ("Valid", "every problem is solved")))

    def _problems(self, subject: ObjectRef, uid: str) -> Iterator[Occurrence]:
        told = self._board.told.get(subject)
        for it in _told(told):
            yield _occurrence(subject, uid, "Warning", (it.reason, it.message))
        if subject.kind == "Secret":
            return
        for remark in self._board.remarks.get(subject, {}).get("document", ()):
            if remark.severity == "error":
                yield _occurrence(subject, uid, "Warning", ("NotTaken", remark.message))


def _told(found: statuses.Status | None) -> tuple[statuses.SubCondition, ...]:
    """What has no place in the status itself."""
    if not isinstance(found, statuses.IngressStatus):
        return ()
    return (*found.problems, *found.warnings)


def _occurrence(
    subject: ObjectRef, uid: str, type_: Literal["Normal", "Warning"], said: tuple[str, str]
) -> Occurrence:
    regarding = Regarding(_API_VERSIONS[subject.kind], *subject, uid)
    return Occurrence(regarding, type_, said[0], "Validate", said[1])


_API_VERSIONS = {it.kind: it.api_version for it in KINDS.values()}
