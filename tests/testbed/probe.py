"""Sends requests until an answer shows a change, which proves that the change is served."""

import asyncio
import time
from collections.abc import Callable

from tests.testbed.load import Answer, Connection, Request

PATIENCE = 30.0
NO_CONNECTION = 0
"""Replaces the status if nothing answered."""


class NotObserved(Exception):  # noqa: N818
    """A change that no answer showed in time."""


Sign = Callable[[Answer], bool]


async def observed(
    connection: Connection,
    request: Request,
    sign: Sign,
    may_be: frozenset[int] = frozenset({200}),
    pause: float = 0.0,
) -> float:
    """When the first answer came that shows the change; before it, only these statuses may come.

    With a pause between two requests, whoever makes the change has the machine to itself.

    Raises `NotObserved`.
    """
    answer = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await _answer(connection, request)
                now = time.monotonic()
                if sign(answer):
                    return now
                if answer.status not in may_be:
                    raise NotObserved(f"{request} got {_told(answer)} on the way")
                if pause:
                    await asyncio.sleep(pause)
    except TimeoutError:
        raise NotObserved(f"{request} still gets {_told(answer)}") from None


async def _answer(connection: Connection, request: Request) -> Answer:
    try:
        return await connection.ask(request)
    except (OSError, EOFError) as error:
        await asyncio.sleep(0.001)
        return Answer(NO_CONNECTION, {}, str(error).encode())


def _told(answer: Answer | None) -> str:
    return f"{answer.status} {answer.body[:100]!r}" if answer else "no answer"
