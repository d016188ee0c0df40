"""One extension: what it is asked, in which order, and how its replies are used.

Questions without an answer are asked first. After a new connection, and every `refresh`, the others
are asked again after those: the extension may have been replaced. A reply that differs from the
last one is used only if a second reply is equal to it. An answer is kept until there is a newer
one, whatever fails in the meantime.

An extension that is unavailable is asked one question every quarter of a second until it answers;
the other questions wait for that, instead of each for its own deadline. Questions that fail
although the extension is available are repeated one at a time; as soon as one of them is answered,
all are repeated, because the extension may have been fixed. Questions whose replies are refused are
repeated in the same way, and all of them as soon as the reply to one of them changes.

An extension that hangs or dies may lose questions. While a question waits and no answers arrive,
the extension is asked another question every quarter of a second. A question that was asked at
least half a second before one that has been answered counts as lost: it is cancelled and asked a
second time.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

from contour.envoy.hooks.questions import Question, Reply, Silence
from contour.extensioncalls import exchanged
from contour.extensioncalls.troubles import Troubles, words
from contour.extensioncalls.waiting import Waiting
from contour.hooks import wire
from contour.hooks.replies import Answer, Failure, failure
from dag import hookservers
from dag.hookservers import Connection

log = logging.getLogger(__name__)

_MOST_PROBES: Final = 16
"""Questions in flight at once that only find out whether an extension answers."""
IN_FLIGHT: Final = 64 - _MOST_PROBES
"""Other questions to an extension that are in flight at once."""
AWAY: Final = frozenset({"Unavailable", "DeadlineExceeded"})
"""Reasons of failures that are caused by the connection, not by the question."""
_MISSED: Final = 3
"""After so many missed deadlines in a row, an extension counts as unavailable."""
_PROBES: Final = 0.25
"""Seconds between two questions to an extension that is unavailable, or silent for a while."""
_LOST: Final = 0.5
"""Seconds; a question that was asked so long before one that has been answered counts as lost."""
_AGAIN: Final = 0.25
"""Seconds between two repeated questions."""
_SLOW: Final = 1.0
"""Seconds after which a question without an answer is reported."""


class Asked(Protocol):
    """A connection to an extension (`contour.hooks.client`)."""

    async def ask(self, hook: wire.Hook, question: bytes) -> Answer | Failure:
        """The answer to a question, or why there is none."""
        ...

    async def close(self) -> None:
        """Ends the connection."""


class Replied(Protocol):
    """Receives the replies."""

    def replied(self, question: Question, reply: Reply | Silence) -> None:
        """Takes a new reply."""

    def known(self, question: Question) -> Reply | Silence | None:
        """What is known about a question."""


Found: TypeAlias = Reply | Failure
"""The result of asking a question once."""


class _Sent(NamedTuple):
    """A question that is under way."""

    since: float
    """When it was asked, in seconds of the event loop's clock."""
    task: asyncio.Task[None]


class Conversation:
    """All questions to one extension."""

    def __init__(self, found: Connection, asked: Asked | None, told: Replied) -> None:
        """`asked` is None if the extension cannot be reached."""
        self.connection = found
        self._asked = asked
        self._told = told
        self._questions: dict[bytes, Question] = {}
        self._waiting = Waiting()
        self._asking: dict[bytes, _Sent] = {}
        """The one that was asked first comes first."""
        self._second: set[bytes] = set()
        """Those of them that are asked a second time, because they were lost the first time."""
        self._probes: dict[asyncio.Task[Answer | Failure], None] = {}
        self._heard = 0.0
        """When the last answer arrived."""
        self._failing: dict[bytes, None] = {}
        """Questions that have failed, in the order in which they are asked again."""
        self._waker = asyncio.Event()
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._missed = 0
        self._away: Failure | None = None
        self._open: dict[bytes, float] = {}
        """Questions about which nothing is known, and since when they are open."""
        self._doubted: dict[bytes, None] = {}
        """Questions whose replies are refused, in the order in which they are asked again."""
        self._troubles = Troubles()
        self._tasks: set[asyncio.Task[None]] = set()

    # What is wanted.

    def want(self, question: Question, *, is_known: bool) -> None:
        """Asks a question; `is_known`: there is an answer from an earlier time."""
        key = question.key
        self._questions[key] = question
        self._waiting.put(question, is_known=is_known)
        if not is_known:
            self._open.setdefault(key, asyncio.get_running_loop().time())
            if self._away is not None:
                asyncio.get_running_loop().call_soon(self._fail_waiting)
        self._waker.set()

    def drop(self, key: bytes) -> None:
        """The question is no longer needed."""
        self._questions.pop(key, None)
        self._waiting.drop(key)
        for it in (self._open, self._failing, self._doubted):
            it.pop(key, None)
        self._second.discard(key)
        self._troubles.forget(key)

    def doubt(self, key: bytes, *, is_refused: bool) -> None:
        """The reply to a question is refused, so it is repeated; or it is not refused any more."""
        if is_refused and key in self._questions:
            self._doubted[key] = None
        else:
            self._doubted.pop(key, None)

    def again(self) -> None:
        """Asks everything again, first the questions without an answer."""
        self._note_return()
        for question in self._questions.values():
            self._waiting.put(question, is_known=isinstance(self._told.known(question), Reply))
        self._waker.set()

    def _note_return(self) -> None:
        """The extension answers again: what it has not answered is asked again."""
        self._missed, self._away = 0, None
        self._troubles.mark_changed()
        self._again(self._failing)

    @property
    def is_open(self) -> bool:
        """Whether there is a question about which nothing is known, not even that it fails."""
        return bool(self._open)

    def tell_slow(self) -> None:
        """Reports questions that have waited for a second."""
        until = asyncio.get_running_loop().time() - _SLOW
        for key in [key for key, since in self._open.items() if since <= until]:
            self._tell(self._questions[key], Silence("has not answered yet"))

    def take_changes(self) -> hookservers.Troubles | None:
        """What is wrong with the answers; None if that has not changed since the last call."""
        return self._troubles.take_changes(self._away, len(self._questions))

    def _tell(self, question: Question, found: Reply | Silence) -> None:
        key = question.key
        self._open.pop(key, None)
        if isinstance(found, Silence):
            self._troubles.note_silence(key, found.why)
        else:
            self._troubles.note_reply(key)
        self._told.replied(question, found)

    # Asking.

    async def run(self, started: Callable[[], Awaitable[None]] | None = None) -> None:
        """Asks questions until it is cancelled; waits first for `started`, if it is given."""
        try:
            if started is not None:
                await started()
            self._begin(self._ask_failing())
            self._begin(self._look_for_lost())
            while True:
                await self._waker.wait()
                await self._one()
        finally:
            for it in (*self._tasks, *self._probes):
                it.cancel()
            if self._asked is not None:
                await self._asked.close()

    async def _one(self) -> None:
        """Asks the next question as soon as fewer than `IN_FLIGHT` are under way."""
        if self._away is not None and not await self._is_back():
            return
        await self._slots.acquire()
        key = self._waiting.take(self._asking)
        if key is None:
            self._slots.release()
            self._waker.clear()  # the end of a question that is under way wakes it
            return
        since = self._now()
        sent = _Sent(since, self._begin(self._converse(self._questions[key], since)))
        self._asking[key] = sent
        sent.task.add_done_callback(partial(self._conversed, key))

    def _begin(self, activity: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(activity)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _conversed(self, key: bytes, task: asyncio.Task[None]) -> None:
        if (sent := self._asking.get(key)) is not None and sent.task is task:
            del self._asking[key]
        self._slots.release()
        self._waker.set()

    async def _is_back(self) -> bool:
        """Asks an unavailable extension until it answers; all other questions fail meanwhile. It
        waits for no single answer: an extension that is back may have lost the question."""
        while self._away is not None:
            self._fail_waiting()
            if not self._questions:
                self._waker.clear()
                return False
            await asyncio.sleep(_PROBES)
            self._probe()
        return True

    def _probe(self) -> None:
        """Asks any question, another one each time, since some questions may not be answerable."""
        key = next(iter(self._questions), None)
        if key is None:
            return
        question = self._questions[key] = self._questions.pop(key)
        if len(self._probes) >= _MOST_PROBES:
            next(iter(self._probes)).cancel()
        probe = asyncio.get_running_loop().create_task(self._answered(question))
        self._probes[probe] = None
        probe.add_done_callback(partial(self._probed, self._now()))

    def _probed(self, since: float, probe: asyncio.Task[Answer | Failure]) -> None:
        self._probes.pop(probe, None)
        if probe.cancelled():
            return
        answer = probe.result() if probe.exception() is None else None
        if isinstance(answer, Failure) and answer.reason in AWAY:
            self._away = self._away and answer
            return
        if self._away is not None:
            self._note_return()
        self._hear(since)

    async def _look_for_lost(self) -> None:
        """Asks something while questions wait and nothing is answered."""
        while True:
            await asyncio.sleep(_PROBES)
            until = self._now() - _LOST
            if self._away is None and self._heard <= until and self._waiting_since(until):
                self._probe()

    def _waiting_since(self, until: float) -> list[bytes]:
        """Questions that were asked at that moment or before it, for the first time."""
        found: list[bytes] = []
        for key, sent in self._asking.items():
            if sent.since > until:
                break
            if key not in self._second:
                found.append(key)
        return found

    def _hear(self, since: float) -> None:
        """A question of that moment has been answered: those asked long before it are lost."""
        self._heard = self._now()
        for key in self._waiting_since(since - _LOST):
            self._asking.pop(key).task.cancel()
            if key in self._questions:
                self._second.add(key)
                self._again((key,))

    def _fail_waiting(self) -> None:
        if self._away is None:
            return
        for key in self._waiting.take_urgent(self._asking):
            question = self._questions[key]
            self._failing[key] = None
            if self._told.known(question) is None:
                self._tell(question, Silence(f"does not answer: {words(self._away)}"))

    async def _converse(self, question: Question, since: float) -> None:
        try:
            first = await self._ask(question)
            if not isinstance(first, Failure) or first.reason not in AWAY:
                self._hear(since)
            self._finish(question, await self._confirmed(question, first))
        except Exception as error:
            if question.key not in self._failing:  # it is repeated; log it once
                log.exception("the answer of extension %s could not be taken", question.server)
            why = f"the answer could not be taken: {type(error).__name__}: {error}"
            self._finish(question, failure("Error", why))

    def _finish(self, question: Question, found: Found | None) -> None:
        """A question is not under way any more."""
        self._asking.pop(question.key, None)
        self._second.discard(question.key)
        if found is not None and question.key in self._questions:
            self._take(question, found)

    async def _confirmed(self, question: Question, found: Found) -> Found | None:
        """The reply, if it equals the last one or is given twice; None otherwise."""
        if isinstance(found, Failure):
            return found
        before = self._told.known(question)
        if not isinstance(before, Reply) or before == found:
            self._troubles.note_steady(question.key)
            return found
        second = await self._ask(question)
        if isinstance(second, Failure):
            return second
        if second == found:
            self._troubles.note_steady(question.key)
            return second
        if question.key in self._questions:
            self._troubles.note_other(question.key)
        return None

    async def _ask(self, question: Question) -> Found:
        found = await self._answered(question)
        if isinstance(found, Failure):
            return found
        if question.key in self._questions:
            self._troubles.note_remarks(question.key, found.remarks)
        return exchanged.reply(question, found)

    async def _answered(self, question: Question) -> Answer | Failure:
        if self._asked is None:
            return Failure("Unavailable", self.connection.refusal)
        return await self._asked.ask(question.hook, exchanged.encoded(question))

    def _take(self, question: Question, found: Found) -> None:
        if isinstance(found, Reply):
            self._missed = 0
            if question.key in self._failing:
                del self._failing[question.key]
                self._again(self._failing)
            if question.key in self._doubted and self._told.known(question) != found:
                self._again(self._doubted.keys() - {question.key})
            self._tell(question, found)
            return
        self._note_absence(found)
        if not isinstance(self._told.known(question), Reply):
            self._tell(question, Silence(f"does not answer: {words(found)}"))
        self._failing[question.key] = None

    def _note_absence(self, found: Failure) -> None:
        if found.reason == "DeadlineExceeded":
            self._missed += 1
        if found.reason == "Unavailable" or self._missed >= _MISSED:
            self._away = found
            self._troubles.mark_changed()
            self._waker.set()

    async def _ask_failing(self) -> None:
        """Repeats failed questions, and those whose replies are refused, one at a time."""
        while True:
            await asyncio.sleep(_AGAIN)
            for waiting in (self._failing, self._doubted):
                key = next(iter(waiting), None)
                if key is not None and self._away is None:
                    waiting[key] = waiting.pop(key)
                    self._again((key,))

    def _again(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            if key not in self._asking:
                question = self._questions[key]
                is_known = isinstance(self._told.known(question), Reply)
                self._waiting.put(question, is_known=is_known)
        self._waker.set()


Connect = Callable[[Connection], Asked | None]
"""Makes a connection; None if there can be none."""
