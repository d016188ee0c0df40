"""All extensions of an instance: sends them the questions, and writes their replies as rows.

Replies that arrive together are settled together. At the start, no Envoy is served before every
first question has been answered or has failed.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Final

from contour.envoy.hooks import lists, questions
from contour.envoy.hooks.questions import Question, Reply, Silence
from contour.extensioncalls.answers import Answers
from contour.extensioncalls.conversation import Asked, Connect, Conversation
from contour.extensioncalls.lasting import Lasting
from contour.hooks import client
from dag import hookservers, nodes
from dag.engine.incremental import Engine
from dag.hookservers import Connection

log = logging.getLogger(__name__)

PATIENCE: Final = 60.0
"""Seconds that the first answers may take before the xDS port opens without them."""
STARTS: Final = 30.0
"""Seconds that a sidecar may take to start before its questions fail."""
_LOOKS: Final = 0.02
_SWEEPS: Final = 1.0
_KEEPS: Final = 10
"""In `_SWEEPS`, last good states are written so many times; most edits wait for less than that."""


class Asker:
    """Must be made and used on one event loop."""

    def __init__(
        self,
        engine: Engine,
        settle: Callable[[], None],
        answers: Answers,
        connect: Connect | None = None,
        lasting: Lasting | None = None,
    ) -> None:
        self._engine = engine
        self._settle = settle
        self._answers = answers
        self.lasting = lasting or Lasting()
        self._connect = connect or connected
        self._conversations: dict[str, Conversation] = {}
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._waiting: dict[str, dict[bytes, Question]] = {}
        self._doubted: set[bytes] = set()
        self._settling: asyncio.Handle | None = None
        self._has_begun = False

    # What the controller says (`contour.extensioncalls.rows.Questioner`).

    def want(self, question: Question) -> Reply | None:
        """Asks a question. Returns the reply, if it is known from an earlier time."""
        known = self._answers.get(question.key)
        self._waiting.setdefault(question.server, {})[question.key] = question
        conversation = self._conversations.get(question.server)
        if conversation is not None:
            conversation.want(question, is_known=known is not None)
        return known

    def drop(self, question: Question) -> None:
        """The question is no longer needed."""
        self._waiting.get(question.server, {}).pop(question.key, None)
        if (conversation := self._conversations.get(question.server)) is not None:
            conversation.drop(question.key)

    def doubt(self, question: Question, *, is_refused: bool) -> None:
        """The reply to a question is refused (`is_refused`), or is not refused any more."""
        (self._doubted.add if is_refused else self._doubted.discard)(question.key)
        if (conversation := self._conversations.get(question.server)) is not None:
            conversation.doubt(question.key, is_refused=is_refused)

    def connect(self, name: str, found: Connection | None) -> None:
        """Connects to an extension in this way; None: the extension has been removed."""
        for task in self._tasks.pop(name, ()):
            task.cancel()
        self._conversations.pop(name, None)
        self._engine.write(hookservers.TROUBLES, name, None)
        self._settle_soon()
        if found is None:
            return
        asked = self._connect(found)
        conversation = self._conversations[name] = Conversation(found, asked, self)
        for it in self._waiting.get(name, {}).values():
            conversation.want(it, is_known=isinstance(self.known(it), Reply))
            conversation.doubt(it.key, is_refused=it.key in self._doubted)
        is_starting = found.server.is_sidecar and not self._has_begun
        tasks = [_begun(conversation.run(partial(_there, found.server) if is_starting else None))]
        if isinstance(asked, client.Client):
            tasks.append(_begun(_reconnect(asked, conversation)))
        if found.server.refresh is not None:
            tasks.append(_begun(_refresh(conversation, found.server.refresh)))
        self._tasks[name] = tasks

    # What conversations say.

    def replied(self, question: Question, reply: Reply | Silence) -> None:
        """Takes a new reply, which becomes a row if it is still needed."""
        if question.key not in self._waiting.get(question.server, {}):
            return
        if isinstance(reply, Reply):
            self._answers.put(question.key, _storable(question, reply))
        self._engine.write(questions.REPLIES, question.key, reply)
        self._settle_soon()

    def known(self, question: Question) -> Reply | Silence | None:
        """What is known about a question."""
        return self._engine.row(questions.REPLIES, question.key)

    # What goes on.

    async def begin(self, stopped: asyncio.Event | None = None, patience: float = PATIENCE) -> None:
        """Returns when every first question has been answered or has failed, when told to stop, or
        after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                while self._settling is not None or self._is_open():
                    if stopped is not None and stopped.is_set():
                        return
                    await asyncio.sleep(_LOOKS)
        except TimeoutError:
            log.warning("extensions have not answered everything within %g s", patience)
        self._has_begun = True
        self.lasting.begin()
        self._sweep()

    def _is_open(self) -> bool:
        return any(it.is_open for it in self._conversations.values())

    async def run(self) -> None:
        """Reports questions that are slow or fail, and stores answers and states, until it is
        cancelled."""
        try:
            while True:
                for _ in range(_KEEPS):
                    await asyncio.sleep(_SWEEPS / _KEEPS)
                    self.lasting.write()
                self._sweep()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stops asking."""
        tasks = [it for each in self._tasks.values() for it in each]
        self._tasks = {}
        for it in tasks:
            it.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._answers.close()
        self.lasting.close()

    def _sweep(self) -> None:
        for name, it in self._conversations.items():
            if self._has_begun:
                it.tell_slow()
            found = it.take_changes()
            if found is not None:
                self._engine.write(hookservers.TROUBLES, name, found if any(found) else None)
                self._settle_soon()
        self._answers.write()

    def _settle_soon(self) -> None:
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_soon(self._settled)

    def _settled(self) -> None:
        """Replies are written to disk before they are served, so that they are not lost whenever
        the process ends."""
        self._settling = None
        self._answers.write()
        self._settle()


def _storable(question: Question, reply: Reply) -> Reply:
    """A reply as it may be stored on disk, without private keys."""
    if question.hook != "Translation" or reply.body is None:
        return reply
    return Reply(lists.without_private_parts(reply.body))


def _begun(activity: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """A task whose error, a bug, is logged."""

    def log_error(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what asks an extension has failed", exc_info=error)

    task = asyncio.get_running_loop().create_task(activity)
    task.add_done_callback(log_error)
    return task


async def _there(sidecar: nodes.HookServer) -> None:
    """Returns when the socket of a sidecar exists, or when that has taken too long. A sidecar
    starts together with the control plane."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STARTS):
            while not Path(sidecar.unix).exists():
                await asyncio.sleep(_LOOKS)


async def _reconnect(asked: client.Client, conversation: Conversation) -> None:
    """Asks everything again after each connection but the first."""
    async for number in asked.connections():
        if number > 1:
            conversation.again()


async def _refresh(conversation: Conversation, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        conversation.again()


def connected(found: Connection) -> Asked | None:
    """A connection to an extension; None if a Secret is missing that it needs."""
    if found.refusal:
        return None
    server, shown = found.server, found.certificate
    tls = None
    if server.tls is not None:
        tls = client.Tls(
            found.authorities,
            shown.chain if shown is not None else None,
            shown.key if shown is not None else None,
            server.tls.server_name or None,
        )
    address = f"unix:{server.unix}" if server.unix else f"{_host(server.host)}:{server.port}"
    retries = client.Retries(attempts=server.retries + 1)
    return client.Client(client.Service(address, tls, server.timeout, retries))


def _host(name: str) -> str:
    return f"[{name}]" if ":" in name else name
