"""What an extension is asked, on a clock that takes no time: edits, faults and new answers in any
order come to the same in the end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache
from random import Random
from typing import Final

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_components_pb2

from contour.envoy.hooks.lists import Lists
from contour.envoy.hooks.questions import Question, Reply, Silence
from contour.extensioncalls import exchanged
from contour.extensioncalls.conversation import Conversation
from contour.hooks import wire
from contour.hooks.replies import Answer, Failure
from dag import nodes
from dag.hookservers import Connection, Troubles
from tests.contour.hooks.questions import encoded
from tests.testbed import virtualtime

DEADLINE: Final = 5.0
LATE: Final = 0.3
PATIENCE: Final = 60.0
"""Seconds of that clock."""
MOODS: Final = ("prompt", "late", "away", "hangs", "fails", "breaks")
"""Of the extension."""
HISTORIES: Final = 150
STEPS: Final = 40
NAMES: Final = (*(f"host-{it}" for it in range(6)), "clusters-1", "clusters-2")
CONNECTION: Final = Connection(nodes.HookServer("shaper", frozenset(), ()))


@cache
def about(name: str) -> Question:
    """A question about a host; about all clusters, if the name begins so."""
    if name.startswith("clusters"):
        asked = Lists({name: encoded(cluster_pb2.Cluster(name=name))})
        return Question("shaper", "Translation", name.encode(), lists=asked)
    host = route_components_pb2.VirtualHost(name=name, domains=[name])
    return Question("shaper", "VirtualHost", encoded(host))


def anew(name: str) -> Question:
    """The same question, made again."""
    return about.__wrapped__(name)


def answer(hook: wire.Hook, asked: bytes, version: int) -> Answer:
    """What a version of the extension answers."""
    found = wire.decoded_request(hook, asked).resources
    if hook == "Translation":
        more = encoded(cluster_pb2.Cluster(name="added", alt_stat_name=str(version)))
        body = wire.encoded_reply(hook, {"clusters": (*found["clusters"], more)})
        return Answer(body, (f"remark {version}",))
    (body,) = found["virtual_host"]
    host = route_components_pb2.VirtualHost.FromString(body)
    host.request_headers_to_remove.append(str(version))
    body = wire.encoded_reply(hook, {"virtual_host": (encoded(host),)})
    return Answer(body, (f"remark {version}",))


def replied(question: Question, version: int) -> Reply:
    """What that comes to."""
    found = answer(question.hook, exchanged.encoded(question), version)
    return exchanged.reply(question, found)


class Extension:
    """As it is told to be; each answer takes a time of its own."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.version = 1
        self.mood = "prompt"
        self.asked = 0
        self.open = 0
        self.longest = 0.01

    async def ask(self, hook: wire.Hook, question: bytes) -> Answer | Failure:
        self.asked += 1
        self.open += 1
        assert self.open <= 64
        try:
            return await self._answered(hook, question, self.version)
        finally:
            self.open -= 1

    async def _answered(self, hook: wire.Hook, question: bytes, version: int) -> Answer | Failure:
        mood = self.mood
        last = {"hangs": DEADLINE, "late": LATE}
        await asyncio.sleep(last.get(mood) or self._chance.uniform(0, self.longest))
        match mood:
            case "hangs":
                return Failure("DeadlineExceeded", "no answer")
            case "away":
                return Failure("Unavailable", "gone")
            case "fails" if self._chance.random() < 0.5:
                return Failure("Error", "as it likes")
            case "breaks":
                raise LookupError("one of ours")
            case _:
                return answer(hook, question, version)

    async def close(self) -> None:
        pass


class Rows:
    """What is known, of the questions that are wanted."""

    def __init__(self) -> None:
        self.found: dict[bytes, Reply | Silence | None] = {}
        self.kept: dict[bytes, Reply] = {}

    def replied(self, question: Question, reply: Reply | Silence) -> None:
        assert question.key in self.found, "somebody wants to know it"
        self.found[question.key] = reply
        if isinstance(reply, Reply):
            self.kept[question.key] = reply

    def known(self, question: Question) -> Reply | Silence | None:
        return self.found.get(question.key)


class Told:
    """A conversation, and what comes of it."""

    def __init__(self, chance: Random) -> None:
        self.extension = Extension(chance)
        self.rows = Rows()
        self.conversation = Conversation(CONNECTION, self.extension, self.rows)
        self._troubles = Troubles()

    def want(self, name: str) -> None:
        question = anew(name)
        known = self.rows.found[question.key] = self.rows.kept.get(question.key)
        self.conversation.want(question, is_known=known is not None)

    def drop(self, name: str) -> None:
        del self.rows.found[about(name).key]
        self.conversation.drop(about(name).key)

    @property
    def troubles(self) -> Troubles:
        self._troubles = self.conversation.take_changes() or self._troubles
        return self._troubles

    def is_answered(self, *names: str) -> bool:
        """Whether all of them, and no others, are answered by the newest version."""
        version = self.extension.version
        wanted = {about(it).key: replied(about(it), version) for it in names}
        return self.rows.found == wanted and not self.conversation.is_open

    def is_well(self) -> bool:
        """Whether nothing is told but of the newest answers. That an extension is away is told as
        long as nothing is asked."""
        if not self.rows.found:
            return not self.troubles.remarks
        return self.troubles == Troubles((), (f"remark {self.extension.version}",))

    async def until(self, what: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not what():
                await asyncio.sleep(0.1)


@asynccontextmanager
async def told(chance: Random | None = None) -> AsyncGenerator[Told]:
    found = Told(chance or Random(0))
    task = asyncio.get_running_loop().create_task(found.conversation.run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("kind", ["host", "clusters"])
def test_what_is_edited_away_and_back_while_it_is_asked_gets_that_answer(kind: str) -> None:
    async def history() -> None:
        async with told() as of:
            of.extension.mood = "late"
            of.want(kind)
            await asyncio.sleep(LATE / 2)
            of.extension.mood = "hangs"
            for _ in range(2):
                of.want(f"{kind} otherwise")
                of.drop(kind)
                of.want(kind)
                of.drop(f"{kind} otherwise")
            await of.until(lambda: of.is_answered(kind))

    virtualtime.run(history())


def test_what_is_asked_while_the_extension_connects_again_is_asked_once_more() -> None:
    async def history() -> None:
        async with told() as of:
            of.extension.mood = "late"
            of.want("host")
            await asyncio.sleep(LATE / 2)
            of.extension.version = 2
            of.conversation.again()
            await of.until(lambda: of.is_answered("host"))

    virtualtime.run(history())


@pytest.mark.parametrize("kind", ["host", "clusters"])
def test_an_error_of_ours_is_a_failure_of_the_question_which_is_asked_again(kind: str) -> None:
    async def history() -> None:
        async with told() as of:
            of.extension.mood = "breaks"
            of.want(kind)
            await of.until(lambda: not of.conversation.is_open)
            why = "the answer could not be taken: LookupError: one of ours"
            assert of.troubles.errors == (
                f"1 of 1 questions fail: it does not answer: Error: {why}",
            )
            of.extension.mood = "prompt"
            await of.until(lambda: of.is_answered(kind))
            assert of.is_well()

    virtualtime.run(history())


def test_what_is_to_be_asked_once_more_is_not_forgotten_where_the_extension_goes_away() -> None:
    async def history() -> None:
        async with told() as of:
            of.extension.mood = "late"
            of.want("host")
            await asyncio.sleep(LATE / 2)
            of.extension.version, of.extension.mood = 2, "away"
            of.conversation.again()
            of.want("other")
            await asyncio.sleep(LATE)
            assert of.troubles.errors == ("does not answer: Unavailable: gone",)
            of.extension.mood = "prompt"
            await of.until(lambda: of.is_answered("host", "other"))

    virtualtime.run(history())


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_after_any_history_everything_is_answered_as_the_extension_answers_now(seed: int) -> None:
    async def history() -> None:
        chance = Random(seed)
        async with told(chance) as of:
            wanted: set[str] = set()
            for _ in range(STEPS):
                step(of, wanted, chance)
                await asyncio.sleep(chance.choice([0, 0.05, 0.3, 2]))
            of.extension.mood, of.extension.longest = "prompt", 0.01
            await of.until(lambda: of.is_answered(*wanted))
            await of.until(of.is_well)

    virtualtime.run(history())


def step(of: Told, wanted: set[str], chance: Random) -> None:
    """An edit, a fault, or a newer extension, which is connected to again."""
    match chance.randrange(8):
        case 0 | 1 | 2:
            name = chance.choice(NAMES)
            (of.drop if name in wanted else of.want)(name)
            wanted ^= {name}
        case 3:
            of.extension.mood = chance.choice(MOODS)
        case 4:
            of.extension.longest = chance.choice([0.01, 0.4, 3])
        case 5:
            name, is_refused = chance.choice(NAMES), chance.random() < 0.5
            of.conversation.doubt(about(name).key, is_refused=is_refused)
        case _:
            of.extension.version += 1
            of.conversation.again()
