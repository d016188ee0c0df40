"""Writes statuses to the API server while this process leads; callers never wait for it.

Callers name objects whose status may have changed (`notice`) and go on. A status is computed when
its write starts, so it is always the newest. At the start of a term every object is checked: a
status that is already stored is not written again, and one that depends on Envoys that have not
reported yet is held until they have (`release`).

Elsewhere: how soon an object is written again (`contour.status.pacing`), which changes go first
(`bursts`, `precedence`), the write itself (`update`), the contents (`answers`), what a failure
means (`retries`).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from contour.status import retries
from contour.status.bursts import Bursts
from contour.status.pacing import Pacing
from contour.status.precedence import Precedence
from contour.status.tally import Tally
from contour.status.update import WRITTEN, Outcome, Sources, Updates
from crds.meta import ObjectRef
from kube import errors
from kube.client import Client
from kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

WORKERS = 16
"""Writes that are under way at once."""

_LOOK = 0.001
"""Seconds between two checks whether a change has been sent, which takes a few milliseconds."""

Everything = Callable[[], Iterable[ObjectRef]]
Told = Callable[[ObjectRef, Outcome], None]
"""Takes an object that was processed, and the outcome for its status."""


class Writer:
    """Writes the statuses of all objects to which we write one."""

    def __init__(
        self,
        client: Client,
        sources: Sources,
        everything: Everything,
        told: Told = lambda _, __: None,
    ) -> None:
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)  # by kind
        self._client = client
        self._updates = Updates(client, sources)
        self._everything = everything
        self._told = told
        self._queue = WorkQueue[ObjectRef]()
        self._pacing = Pacing()
        self._bursts = Bursts()
        self._precedence = Precedence(sources.is_change_underway)
        self._turn = asyncio.Lock()
        self._is_running = False
        self._processed = asyncio.Event()
        self._standstill_until = 0.0
        self._failures: int = 0  # of the API server, in a row
        self._held: set[ObjectRef] = set()  # until all Envoys have reported
        self._is_contested = False  # statuses are overwritten, which the log tells

    @property
    def waiting(self) -> int:
        """The number of objects that wait or are being written."""
        return len(self._queue) + len(self._held)

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """The statuses of these objects may have changed, or their generations."""
        if self._is_running:
            now = _now()
            for it in subjects:
                self._queue.add(it, self._pacing.left(it, now))

    def seen(self, subject: ObjectRef) -> None:
        """The version or status of an object has changed on the API server. Our own writes are
        ignored: if the answer has changed since, `notice` was called."""
        if not self._updates.is_echo(subject):
            self.notice((subject,))

    def changed(self, subjects: Collection[ObjectRef]) -> None:
        """The same as `notice`, because of changes by users: during a burst of these, statuses
        wait."""
        self._bursts.note(len(subjects), _now())
        self.notice(subjects)

    def release(self) -> None:
        """All replicas have reported: writes the statuses that were held until then."""
        held, self._held = self._held, set()
        self.notice(held)

    async def drained(self) -> None:
        """Waits until no object waits."""
        while self.waiting:
            await self._processed.wait()

    async def run(self) -> None:
        """Runs for one term: writes every status that differs, until it is cancelled."""
        self._is_running = True
        self._standstill_until = 0.0
        self._is_contested = False
        self._failures = 0
        self.notice(self._everything())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(WORKERS):
                    group.create_task(self._work())
        finally:
            self._is_running = False
            self._queue, self._pacing = WorkQueue[ObjectRef](), Pacing()
            self._held.clear()
            for it in self.tallies.values():
                it.given_up.clear()

    async def _work(self) -> None:
        while True:
            async with (
                self._turn
            ):  # only one write begins per turn of the loop, so that changes come in between
                subject = await self._next()
                await asyncio.sleep(0)
            self._queue.done(subject, await self._write(subject))
            self._processed.set()
            self._processed = asyncio.Event()

    async def _next(self) -> ObjectRef:
        while True:
            held = max(self._standstill_until, self._bursts.held_until) - _now()
            if held > 0:
                if await self._client.reachability.pause(held):
                    self._standstill_until = 0.0
            elif self._precedence.holds(_now()):
                await asyncio.sleep(_LOOK)
            elif (found := self._queue.pop()) is not None:
                return found
            else:
                await self._queue.wait()

    async def _write(self, subject: ObjectRef) -> float:
        """Writes a status. Returns the seconds for which the object is not written again."""
        tally, start = self.tallies[subject.kind], _now()
        tally.total += 1
        try:
            outcome = await self._updates.update(subject, tally)
        except errors.RequestError as error:
            tally.fail(_now() - start)
            return self._failed(subject, error)
        except Exception:  # a status that cannot be merged must not stop the others
            tally.fail(_now() - start)
            log.exception("cannot write the status of %s", subject)
            tally.given_up.add(subject)
            return 0.0
        tally.noop += outcome == "unchanged"
        if outcome in WRITTEN:
            tally.success += 1
            tally.seconds += _now() - start
        return self._ended(subject, outcome)

    def _ended(self, subject: ObjectRef, outcome: Outcome) -> float:
        if outcome != "pruned":
            self._queue.forget(subject)
        (self._held.add if outcome == "held" else self._held.discard)(subject)
        self.tallies[subject.kind].given_up.discard(subject)
        self._told(subject, outcome)
        if outcome not in WRITTEN:
            return 0.0
        self._failures = 0
        if outcome == "pruned":
            return self._completed_later(subject)
        pause = self._pacing.written(subject, _now(), is_restored=outcome == "restored")
        if pause > self._pacing.longest and not self._is_contested:
            self._is_contested = True
            log.warning(
                "another client keeps overwriting statuses, such as that of %s, so these are "
                "restored after longer pauses; does another controller serve the same objects?",
                subject,
            )
        return pause

    def _completed_later(self, subject: ObjectRef) -> float:
        """Writes dropped fields again a few times, since a new CRD may have them."""
        pause = retries.completion(self._queue.fail(subject))
        if pause is None:
            self._queue.forget(subject)
            return self._pacing.written(subject, _now())
        return self._again(subject, pause)

    def _failed(self, subject: ObjectRef, error: errors.RequestError) -> float:
        now, failures = _now(), self._queue.fail(subject)
        is_first = (
            self._standstill_until <= now
        )  # of the writes that were under way at the same time
        found = retries.verdict(error, retries.Failures(failures, self._failures + 1))
        match found.act:
            case "pause":
                if is_first:
                    self._failures += 1
                    self._standstill_until = now + found.seconds
                    log.warning(
                        "the API server refuses status writes: %s; pausing them for %.1f s",
                        error,
                        found.seconds,
                    )
                return self._again(subject, 0.0)
            case "retry":
                if failures == 1:
                    log.warning("cannot write the status of %s yet: %s; retrying", subject, error)
                return self._again(subject, found.seconds)
            case "forget" if self._updates.is_known(subject):
                # Only the API server that was asked does not know it yet.
                return self._again(subject, found.seconds)
            case "forget":
                self.tallies[subject.kind].given_up.discard(subject)
            case "report":
                self.tallies[subject.kind].given_up.add(subject)
                log.error(
                    "the API server refuses the status of %s: %s%s",
                    subject,
                    error,
                    _causes(error),
                )
        self._queue.forget(subject)
        return 0.0

    def _again(self, subject: ObjectRef, seconds: float) -> float:
        self._queue.add(subject, seconds)
        return self._pacing.postpone(subject, _now(), seconds)


def _causes(error: errors.RequestError) -> str:
    causes = error.causes if isinstance(error, errors.Refused) else ()
    return "".join(f"; {it.field}: {it.message}" for it in causes[:_MOST_CAUSES])


_MOST_CAUSES = 5


def _now() -> float:
    return asyncio.get_running_loop().time()
