"""Writes statuses into the cluster while this process leads; never where anybody waits for it.

Whoever changes something says which objects may be concerned (`notice`) and goes on. What is to be
said of an object is asked for when its turn comes, so the newest answer is the only one. At the
start of a term every object has its turn: what stands there already is not written again, and what
depends on Envoys that have not been heard yet is held until they have (`release`).

Elsewhere: whose turn it is (`contour.status.backlog`), the write itself (`update`), what is said
(`answers`), what a failure means (`retries`).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from contour.status import retries
from contour.status.backlog import Backlog
from contour.status.bursts import Bursts
from contour.status.tally import Tally
from contour.status.update import Outcome, Sources, Updates
from crds.meta import ObjectRef
from kube import errors
from kube.client import Client

log = logging.getLogger(__name__)

PARALLEL = 16
"""Writes that are under way at once."""

Everything = Callable[[], Iterable[ObjectRef]]
Told = Callable[[ObjectRef, Outcome], None]
"""Of an object whose turn is over: what became of its status."""


class Writer:
    """Of all objects that have a status of ours."""

    def __init__(
        self,
        client: Client,
        sources: Sources,
        everything: Everything,
        told: Told = lambda *_: None,
    ) -> None:
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)  # by kind
        self._client = client
        self._updates = Updates(client, sources)
        self._everything = everything
        self._told = told
        self._backlog = Backlog()
        self._bursts = Bursts()
        self._is_running = False
        self._news = asyncio.Event()
        self._turned = asyncio.Event()
        self._standstill_until = 0.0
        self._failures = 0  # of the API server, in a row
        self._failures_of: dict[ObjectRef, int] = {}  # in a row
        self._held: set[ObjectRef] = set()  # until Envoys have been heard

    @property
    def waiting(self) -> int:
        """How many objects wait, or are being written."""
        return len(self._backlog) + len(self._held)

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """What is to be said of these may have changed, or the version it is said of."""
        if self._is_running:
            self._backlog.add(subjects, _now())
            self._news.set()

    def changed(self, subjects: Collection[ObjectRef]) -> None:
        """The same, because of what users did: if they do much at once, statuses wait for them."""
        self._bursts.note(len(subjects), _now())
        self.notice(subjects)

    def release(self) -> None:
        """The Envoys of all replicas have been heard: what was held for that has its turn."""
        held, self._held = self._held, set()
        self.notice(held)

    async def drained(self) -> None:
        """Waits until no object waits."""
        while self.waiting:
            await self._turned.wait()

    async def run(self) -> None:
        """For one term: writes everything that is not as it should be, until it is cancelled."""
        self._is_running = True
        self._standstill_until, self._failures = 0.0, 0
        self.notice(self._everything())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(PARALLEL):
                    group.create_task(self._work())
        finally:
            self._is_running = False
            self._backlog, self._failures_of, self._held = Backlog(), {}, set()

    async def _work(self) -> None:
        while True:
            await self._turn(await self._next())
            self._turned.set()
            self._turned = asyncio.Event()
            await asyncio.sleep(0)  # a thousand turns without a write must not stop the rest

    async def _next(self) -> ObjectRef:
        while True:
            now = _now()
            held = max(self._standstill_until, self._bursts.held_until) - now
            if held > 0:
                if await self._client.reach.pause(held):
                    self._standstill_until = 0.0
                continue
            found = self._backlog.next(now)
            if found is not None:
                return found
            until = self._backlog.next_time() or now + _LONG
            self._news.clear()
            try:
                async with asyncio.timeout(until - now):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _turn(self, subject: ObjectRef) -> None:
        tally, start = self.tallies[subject.kind], _now()
        tally.total += 1
        try:
            outcome = await self._updates.update(subject, tally)
        except errors.RequestError as error:
            tally.fail(_now() - start)
            self._failed(subject, error)
        except Exception:  # a status that cannot be merged must not stop the others
            tally.fail(_now() - start)
            log.exception("cannot write the status of %s", subject)
            self._backlog.settled(subject, _now())
        else:
            self._ended(subject, outcome)
            if outcome == "written":
                tally.success += 1
                tally.seconds += _now() - start
            tally.noop += outcome == "unchanged"

    def _ended(self, subject: ObjectRef, outcome: Outcome) -> None:
        self._failures_of.pop(subject, None)
        (self._held.add if outcome == "held" else self._held.discard)(subject)
        if outcome == "written":
            self._failures = 0
            self._backlog.written(subject, _now())
        else:
            self._backlog.settled(subject, _now())
        self._told(subject, outcome)

    def _failed(self, subject: ObjectRef, error: errors.RequestError) -> None:
        now = _now()
        is_first = self._standstill_until <= now  # of those that were under way at once
        failures = self._failures_of[subject] = self._failures_of.get(subject, 0) + 1
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
                self._backlog.failed(subject, now, 0.0)
            case "retry":
                self._backlog.failed(subject, now, found.seconds)
                if failures == 1:
                    log.warning("cannot write the status of %s yet: %s; retrying", subject, error)
            case "forget" if self._updates.is_known(subject):
                # Only the one who was asked has not heard of it yet.
                self._backlog.failed(subject, now, found.seconds)
            case "report" | "forget":
                del self._failures_of[subject]
                self._backlog.settled(subject, now)
                if found.act == "report":
                    log.error(
                        "the API server refuses the status of %s: %s%s",
                        subject,
                        error,
                        _causes(error),
                    )


def _causes(error: errors.RequestError) -> str:
    causes = error.causes if isinstance(error, errors.Refused) else ()
    return "".join(f"; {it.field}: {it.message}" for it in causes[:_MOST_CAUSES])


_MOST_CAUSES = 5
_LONG = 3600.0


def _now() -> float:
    return asyncio.get_running_loop().time()
