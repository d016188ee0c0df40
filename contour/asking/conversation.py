"""One extension: what it is asked, in which order, and what its replies come to.

What has no answer yet is asked first. After a new connection, and every `refresh`, all else is
asked again behind it: the extension may be another one by now. A reply that differs from the last
one counts if a second one is equal to it. An answer that is there stays until there is a better
one, whatever fails meanwhile.

An extension that is away is asked one question at a time until it answers; the others wait for
that and not each for its own deadline.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from contour.envoy.hooks import lists
from contour.envoy.hooks.questions import Question, Reply, Silence
from contour.hooks import wire
from contour.hooks.replies import Answer, Failure
from dag.hookservers import Connection

IN_FLIGHT: Final = 64
"""Questions that an extension is asked at once."""
AWAY: Final = frozenset({"Unavailable", "DeadlineExceeded"})
"""Reasons of failures that are those of the connection, and not of the question."""
_MISSED: Final = 3
"""So many deadlines in a row, and it is away."""
_PROBES: Final = 0.25
"""Seconds between two questions to an extension that is away."""
_AGAIN: Final = 5.0
"""Seconds until a question that failed alone is asked again; doubled up to a minute."""
_LONGEST: Final = 60.0
_SLOW: Final = 1.0
"""Seconds after which it is told that there is no answer yet."""


class Asked(Protocol):
    """A connection to an extension (`contour.hooks.client`)."""

    async def ask(self, hook: wire.Hook, question: bytes) -> Answer | Failure:
        """What it makes of a question."""
        ...

    async def close(self) -> None:
        """Ends the connection."""


class Replied(Protocol):
    """Who is told."""

    def replied(self, question: Question, reply: Reply | Silence) -> None:
        """There is something new."""

    def known(self, question: Question) -> Reply | Silence | None:
        """What is known of a question."""


def encoded(question: Question) -> bytes:
    """A question as it goes out."""
    if question.hook == "Translation":
        clusters, secrets = (tuple(it.values()) for it in question.lists)
        everything: wire.Resources = {"clusters": clusters, "secrets": secrets}
        return wire.encoded_request(question.hook, wire.Request(everything))
    (field,) = wire.FIELDS[question.hook]
    resources: wire.Resources = {field: (question.body,)}
    request = wire.Request(resources, question.hostnames, question.objects)
    return wire.encoded_request(question.hook, request)


class Conversation:
    """With one extension."""

    def __init__(self, found: Connection, asked: Asked | None, told: Replied) -> None:
        """`asked` is None if there is no way to reach it."""
        self.connection = found
        self._asked = asked
        self._told = told
        self._questions: dict[bytes, Question] = {}
        self._urgent: dict[bytes, None] = {}
        self._later: dict[bytes, None] = {}
        self._last: dict[bytes, None] = {}
        """Questions about all clusters: when the extension has been asked about everything else."""
        self._asking: set[bytes] = set()
        self._pauses: dict[bytes, float] = {}
        self._waker = asyncio.Event()
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._missed = 0
        self._away: Failure | None = None
        self._open: dict[bytes, float] = {}
        """Questions of which nothing is known, and since when they are open."""
        self._silent: dict[bytes, str] = {}
        self._unstable: set[bytes] = set()
        self._is_turned = False
        self._tasks: set[asyncio.Task[None]] = set()

    # What is wanted.

    def want(self, question: Question, *, is_known: bool) -> None:
        """A question is open, or its answer is an old one."""
        key = question.key
        self._questions[key] = question
        self._queue(question, is_known=is_known)
        if not is_known:
            self._open.setdefault(key, asyncio.get_running_loop().time())
            if self._away is not None:
                asyncio.get_running_loop().call_soon(self._fail_waiting)
        self._waker.set()

    def drop(self, key: bytes) -> None:
        """Nobody wants to know it any more."""
        self._questions.pop(key, None)
        self._open.pop(key, None)
        self._pauses.pop(key, None)
        self._is_turned |= key in self._silent or key in self._unstable
        self._silent.pop(key, None)
        self._unstable.discard(key)

    def again(self) -> None:
        """Asks everything again: what has no answer first."""
        self._missed, self._away, self._is_turned = 0, None, True
        for question in self._questions.values():
            self._queue(question, is_known=isinstance(self._told.known(question), Reply))
        self._waker.set()

    def _queue(self, question: Question, *, is_known: bool) -> None:
        known = self._later if is_known else self._urgent
        (self._last if question.hook == "Translation" else known)[question.key] = None

    @property
    def is_open(self) -> bool:
        """Whether there is a question of which nothing is known, not even that it fails."""
        return bool(self._open)

    def tell_slow(self) -> None:
        """Tells of questions that have waited for a second."""
        until = asyncio.get_running_loop().time() - _SLOW
        for key in [key for key, since in self._open.items() if since <= until]:
            self._tell(self._questions[key], Silence("has not answered yet"))

    def turned(self) -> tuple[str, ...] | None:
        """What is wrong with its answers; None if that has not changed since the last call."""
        if not self._is_turned:
            return None
        self._is_turned = False
        found: list[str] = []
        if self._away is not None:
            found.append(f"does not answer: {_words(self._away)}")
        elif self._silent:
            why = self._silent[min(self._silent)]
            found.append(f"{len(self._silent)} of {len(self._questions)} questions fail: it {why}")
        if self._unstable:
            number = len(self._unstable)
            found.append(f"answers {number} equal questions differently; the first answers stay")
        return tuple(found)

    def _tell(self, question: Question, found: Reply | Silence) -> None:
        key = question.key
        self._open.pop(key, None)
        if isinstance(found, Silence):
            self._is_turned |= self._silent.get(key) != found.why
            self._silent[key] = found.why
        else:
            self._is_turned |= self._silent.pop(key, None) is not None
        self._told.replied(question, found)

    # Asking.

    async def run(self) -> None:
        """Asks, until it is cancelled."""
        try:
            while True:
                await self._waker.wait()
                await self._one()
        finally:
            for it in self._tasks:
                it.cancel()
            if self._asked is not None:
                await self._asked.close()

    async def _one(self) -> None:
        """Asks the next question, as soon as one fewer is under way."""
        if self._away is not None and not await self._is_back():
            return
        await self._slots.acquire()
        question = self._next()
        if question is None:
            self._slots.release()
            if not (self._urgent or self._later):
                self._waker.clear()  # what is asked last wakes it when nothing else is asked
            return
        self._asking.add(question.key)
        task = asyncio.get_running_loop().create_task(self._converse(question))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._wake_last)

    def _wake_last(self, _: object) -> None:
        if self._last and not self._asking:
            self._waker.set()

    def _next(self) -> Question | None:
        for waiting in (self._urgent, self._later, self._last):
            while waiting and not (waiting is self._last and self._asking):
                key = next(iter(waiting))
                del waiting[key]
                question = self._questions.get(key)
                if question is not None and key not in self._asking:
                    return question
        return None

    async def _is_back(self) -> bool:
        """Asks one question of an extension that is away; all others have failed with it."""
        self._fail_waiting()
        key = next(iter(self._questions), None)
        if key is None:
            self._waker.clear()
            return False
        # Another one each time: it may be a question that it cannot answer.
        question = self._questions[key] = self._questions.pop(key)
        await asyncio.sleep(_PROBES)
        reply = await self._ask(question)
        if isinstance(reply, Failure) and reply.reason in AWAY:
            self._away = reply
            return False
        self.again()
        return True

    def _fail_waiting(self) -> None:
        if self._away is None:
            return
        failed = (*self._urgent, *self._last)
        self._urgent, self._last = {}, {}
        for key in failed:
            question = self._questions.get(key)
            if question is not None and self._told.known(question) is None:
                self._tell(question, Silence(f"does not answer: {_words(self._away)}"))

    async def _converse(self, question: Question) -> None:
        try:
            first = await self._ask(question)
            reply = await self._confirmed(question, first)
        finally:
            self._asking.discard(question.key)
            self._slots.release()
        if reply is not None and self._questions.get(question.key) is question:
            self._take(question, reply)

    async def _confirmed(
        self, question: Question, answer: Answer | Failure
    ) -> Answer | Failure | None:
        """An answer that is not the last one counts if it is given twice."""
        if isinstance(answer, Failure):
            return answer
        before = self._told.known(question)
        reply = _reply(question, answer)
        if not isinstance(before, Reply) or before == reply:
            self._is_turned |= question.key in self._unstable
            self._unstable.discard(question.key)
            return answer
        second = await self._ask(question)
        if isinstance(second, Failure) or _reply(question, second) == reply:
            return second
        self._unstable.add(question.key)
        self._is_turned = True
        return None

    async def _ask(self, question: Question) -> Answer | Failure:
        if self._asked is None:
            return Failure("Unavailable", self.connection.refusal)
        return await self._asked.ask(question.hook, encoded(question))

    def _take(self, question: Question, found: Answer | Failure) -> None:
        if isinstance(found, Answer):
            self._missed = 0
            self._pauses.pop(question.key, None)
            self._tell(question, _reply(question, found))
            return
        self._note_absence(found)
        if not isinstance(self._told.known(question), Reply):
            self._tell(question, Silence(f"does not answer: {_words(found)}"))
        if self._away is None:
            self._later_again(question)

    def _note_absence(self, found: Failure) -> None:
        if found.reason == "DeadlineExceeded":
            self._missed += 1
        if found.reason == "Unavailable" or self._missed >= _MISSED:
            self._away, self._is_turned = found, True
            self._waker.set()

    def _later_again(self, question: Question) -> None:
        pause = self._pauses.get(question.key, _AGAIN)
        self._pauses[question.key] = min(2 * pause, _LONGEST)

        def again() -> None:
            if question.key in self._questions:
                self.want(question, is_known=False)

        asyncio.get_running_loop().call_later(pause, again)


def _words(found: Failure) -> str:
    return f"{found.reason}: {found.message}" if found.message else found.reason


def _reply(question: Question, found: Answer) -> Reply:
    reply = wire.decoded_reply(question.hook, found.body)
    if question.hook != "Translation":
        return Reply(reply.single)
    answer = lists.Lists(
        _named(question.lists.clusters, reply.resources.get("clusters", ())),
        _named(question.lists.secrets, reply.resources.get("secrets", ())),
    )
    return Reply(lists.difference(question.lists, answer))


def _named(asked: Mapping[str, bytes], found: Iterable[bytes]) -> dict[str, bytes]:
    """What an answer lists, by name; the names of those that it was asked about are known."""
    known = {body: name for name, body in asked.items()}
    return {known.get(body) or wire.name(body): body for body in found}


Connect = Callable[[Connection], Asked | None]
"""Makes a connection; None if there can be none."""
