"""Long work on the event loop, in turns with everything else that goes on there."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_TURN = 0.005
"""Seconds of work between two looks at what else there is, and half of what one look may hold up:
the step that goes on when they are over takes some more. An answer to a probe takes several looks:
to accept a connection, to read the request, to write the answer."""


async def take(steps: Iterable[object]) -> None:
    """Goes through all steps; between two of them, others may have a turn."""
    until = time.monotonic() + _TURN
    for _ in steps:
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _TURN
    await asyncio.sleep(0)  # what comes after it has a turn of its own


async def collected(steps: Iterable[T | None]) -> list[T]:
    """What all steps found, None where one found nothing; others have their turn in between."""
    found: list[T] = []
    await take(_kept(steps, found))
    return found


def _kept(steps: Iterable[T | None], found: list[T]) -> Iterator[None]:
    for it in steps:
        if it is not None:
            found.append(it)
        yield
