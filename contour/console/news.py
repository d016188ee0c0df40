"""Finds out what to report: which objects a batch or an answer of Envoy concerns, and their
statuses.

A batch is reported when Envoy has it, so that a line can say how long that took, and so that a
status which only waits for Envoy is not reported. Envoy takes milliseconds; if it takes longer than
`PATIENCE`, the batch is reported before, and a second line says when Envoy has it. The cost of a
change depends only on the objects that it concerns.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from contour import turns
from contour.complaints import Locate
from contour.console import endpoints, served, wording
from contour.console.pacing import Pace
from contour.console.terminal import Mark, Terminal
from contour.console.wording import Effect, Known, Line
from contour.events import Batch
from contour.instance import Instance
from contour.status import listing
from contour.status.rows import Row
from crds.meta import ObjectRef
from dag import tables

PATIENCE = 0.5
"""Seconds that lines wait for Envoy."""
_POLL = 0.002
_AT_A_TIME = 200
"""Objects that are processed before other tasks get a turn on the event loop."""

Clock = Callable[[], float]


class Concerned:
    """The objects that may have to be reported; the controller calls it."""

    def __init__(self) -> None:
        self.subjects: set[ObjectRef] = set()
        self.event = asyncio.Event()

    def __call__(self, subjects: Collection[ObjectRef]) -> None:
        self.subjects.update(subjects)
        self.event.set()


class Console:
    """Reports what happens in one instance. `take` passes each batch to the instance."""

    def __init__(
        self,
        instance: Instance,
        concerned: Concerned,
        terminal: Terminal,
        locator: Callable[[], Locate],
        clock: Clock = time.monotonic,
    ) -> None:
        self._instance = instance
        self._concerned = concerned
        self._terminal = terminal
        self._locator = locator
        self._locate = locator()
        self._clock = clock
        self._pace = Pace()
        self._known: dict[ObjectRef, Known] = {}
        self._sources: dict[str, str] = {}  # files among the known, as the system names them
        self._edited: set[ObjectRef] = set()  # by files, since the last report
        self._began: float | None = None  # when the first of these edits was read
        self._has_effect = False
        self._is_for_nodes = False  # whether Envoys of node IDs get some of it
        self._behind_since: float | None = None  # since when Envoy lacks reported changes
        self._listening: frozenset[str] = frozenset()

    def take(self, batch: Batch) -> None:
        """Passes a batch to the instance, and notes which objects it concerns."""
        self._began = self._began or self._clock()
        engine = self._instance.controller.engine
        subjects = {ObjectRef(it.kind.kind, *it.key) for it in batch.events}
        around = set(endpoints.services_of(engine, subjects))
        self._instance.take(batch)
        around |= set(endpoints.services_of(engine, subjects))
        self._edited |= subjects
        self._has_effect |= self._is_pending()
        of_nodes = self._instance.server.by_node.values()
        self._is_for_nodes |= any(not it.acceptance.is_settled for it in of_nodes)
        told = {it for it in batch.complaints if isinstance(it, ObjectRef)}
        self._concerned(subjects | around | told)

    async def greet(self, notes: Sequence[str] = ()) -> None:
        """Reports what is served, as soon as Envoy has it, and then the notes."""
        await self._settled(PATIENCE)
        self._concerned.subjects.clear()
        self._concerned.event.clear()
        self._tell_first(await self._rows(), notes)

    async def follow(self) -> None:
        """Reports every change, until it is cancelled."""
        while True:
            await self._something()
            await self._settled(PATIENCE)
            await self._tell()

    async def _something(self) -> None:
        """Waits until there may be something to report."""
        due = self._pace.due
        seconds = None if due is None else max(0.0, due - self._clock())
        if self._behind_since is not None:
            seconds = min(seconds or _POLL * 25, _POLL * 25)
        try:
            async with asyncio.timeout(seconds):
                await self._concerned.event.wait()
        except TimeoutError:
            return

    async def _settled(self, patience: float) -> None:
        """Waits until Envoy has everything, for at most `patience` seconds."""
        deadline = self._clock() + patience
        while self._is_pending() and self._clock() < deadline:
            await asyncio.sleep(_POLL)

    def _is_pending(self) -> bool:
        fleets = self._instance.server.fleets.values()
        return any(not it.acceptance.is_settled or it.pacing.waiting for it in fleets)

    def _tell_first(self, found: list[Row], notes: Sequence[str]) -> None:
        self._known = {it.subject: wording.known(it) for it in found}
        self._sources = self._instance.controller.board.sources()
        self._terminal.say("plain", served.summary(self._instance.controller, found))
        self._tell_listeners()
        for text in notes:
            self._terminal.say("plain", text)
        for text in served.unused_backends(self._instance.controller):
            self._terminal.say("note", text)
        for row in found:
            if row.told:
                self._say(*wording.problem(row), partial(self._problem, row))
        self._tell_counts()

    def _problem(self, row: Row) -> Line:
        return wording.problem(self._located(row))

    async def _rows(self) -> list[Row]:
        """The rows of all objects; Envoy is served meanwhile."""
        board, engine = self._instance.controller.board, self._instance.controller.engine
        found = await turns.collected(listing.steps(board, engine, every=True))
        return sorted(found, key=listing.order)

    async def _tell(self) -> None:
        self._locate = self._locator()
        effect = self._effect()
        edited, self._edited = self._edited, set()
        subjects, self._concerned.subjects = self._concerned.subjects, set()
        self._concerned.event.clear()
        said: set[str] = set()
        for number, subject in enumerate(sorted(subjects)):
            if number % _AT_A_TIME == _AT_A_TIME - 1:
                await asyncio.sleep(0)
            self._tell_of(subject, effect if subject in edited else None, said)
        self._tell_of_files()
        self._tell_listeners()
        self._tell_counts()

    def _effect(self) -> Effect:
        """Whether and when Envoy got the edits. Those of node IDs are not waited for, because they
        may have refused something."""
        now, began, has_effect = self._clock(), self._began, self._has_effect
        is_for_nodes = self._is_for_nodes
        self._began, self._has_effect, self._is_for_nodes = None, False, False
        is_pending = self._is_pending()
        if self._behind_since is not None and not is_pending:
            seconds = wording.duration(now - self._behind_since)
            self._terminal.say("good", f"Envoy has all changes now, after {seconds}")
            self._behind_since = None
        if began is None or not any(it.envoys for it in self._instance.server.fleets.values()):
            return Effect(None)
        if is_pending:
            self._behind_since = self._behind_since or began
            return Effect(None)
        return Effect(now - began, has_effect, is_for_nodes)

    def _tell_of(self, subject: ObjectRef, effect: Effect | None, said: set[str]) -> None:
        before = self._known.get(subject)
        controller = self._instance.controller
        row = listing.row(controller.board, controller.engine, subject)
        if not self._is_there(subject):
            if self._known.pop(subject, None) is not None:
                self._say(*wording.gone(row, effect))
            return
        self._known[subject] = wording.known(row)
        if subject.kind == "Service" and any(it.message in said for it in row.told):
            return  # it was reported with the object that routes to it
        said.update(it.message for it in row.told)
        if (line := wording.line(row, before, effect)) is not None:
            self._say(*line, partial(self._line, row, before, effect))

    def _line(self, row: Row, before: Known | None, effect: Effect | None) -> Line | None:
        return wording.line(self._located(row), before, effect)

    def _located(self, row: Row) -> Row:
        return row.located(self._locate)

    def _is_there(self, subject: ObjectRef) -> bool:
        controller = self._instance.controller
        table = tables.BY_KIND.get(subject.kind)
        is_row = table is not None and controller.engine.row(table, subject.key) is not None
        return is_row or subject in controller.board.remarks

    def _tell_of_files(self) -> None:
        """Reports changed complaints about files; only files with faults have any."""
        board = self._instance.controller.board
        rows = {it.subject: it for it in board.file_rows()}
        for subject in [it for it in self._known if it.kind == "File" and it not in rows]:
            del self._known[subject]
            is_there = os.path.lexists(self._sources.get(subject.name, subject.name))
            self._say(*wording.file(subject.name, is_there=is_there))
        for subject, row in rows.items():
            if (line := wording.line(row, self._known.get(subject), None)) is not None:
                self._say(*line)
            self._known[subject] = wording.known(row)
        self._sources = board.sources()

    def _tell_listeners(self) -> None:
        """Reports ports when Envoy has accepted their listeners, and when these are gone."""
        now = frozenset(served.listening(self._instance))
        for text in sorted(now - self._listening):
            self._terminal.say("plain", f"serving {text}")
        for text in sorted(self._listening - now):
            self._terminal.say("gone", f"not serving {text} any more")
        self._listening = now

    def _say(self, mark: Mark, text: str, placed: Callable[[], Line | None] | None = None) -> None:
        """Prints a line if the limit admits it, with its place, for which a file has to be read."""
        if self._pace.admits(mark, self._clock()):
            line = placed() if placed is not None else None
            self._terminal.say(mark, line[1] if line is not None else text)

    def _tell_counts(self) -> None:
        due = self._pace.due
        if due is not None and self._clock() >= due:
            self._terminal.say("plain", self._pace.summary(self._clock()))
