"""Asking again and again until an answer shows a change: the proof that the change was served."""

import time
from collections.abc import Callable

from hack.measuring.load import Answer, Connection, Request

PATIENCE = 30.0


class NotObserved(Exception):  # noqa: N818
    """A change that no answer showed in time."""


Sign = Callable[[Answer], bool]


async def observed(
    connection: Connection, request: Request, sign: Sign, may_be: frozenset[int] = frozenset({200})
) -> float:
    """When the first answer came that shows the change; on the way, only these statuses may be.

    Raises `NotObserved`.
    """
    end = time.monotonic() + PATIENCE
    while True:
        answer = await connection.ask(request)
        now = time.monotonic()
        if sign(answer):
            return now
        if answer.status not in may_be:
            raise NotObserved(f"{request} got {answer.status} {answer.body[:100]!r} on the way")
        if now > end:
            raise NotObserved(f"{request} still gets {answer.status} {answer.body[:100]!r}")
