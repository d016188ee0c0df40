"""Runs long work on the event loop in small steps, so that other tasks get their turn."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_TURN = 0.005
"""Seconds of work before other tasks get a turn: half of what one wait may take, because the step
that is running at that time has to end first. The answer to a probe needs several turns: to accept
a connection, to read the request, to write the answer."""


async def take(steps: Iterable[object]) -> None:
    """Takes all steps; between them, other tasks get a turn."""
    until = time.monotonic() + _TURN
    for _ in steps:
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _TURN
    await asyncio.sleep(0)  # what comes after it has a turn of its own


async def collected(steps: Iterable[T | None]) -> list[T]:
    """What the steps found (None: nothing); between them, other tasks get a turn."""
    found: list[T] = []
    await take(_kept(steps, found))
    return found


def _kept(steps: Iterable[T | None], found: list[T]) -> Iterator[None]:
    for it in steps:
        if it is not None:
            found.append(it)
        yield
