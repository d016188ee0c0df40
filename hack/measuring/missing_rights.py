"""What comes of rights that are taken away one at a time, whoever lacks them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tests.testbed.measuring import Options

SIDE_BY_SIDE = 4


class Right(NamedTuple):
    """One verb on one resource, or on one object of that name."""

    group: str
    resource: str
    verb: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


class Outcome(NamedTuple):
    """What came of a right that was missing."""

    right: Right
    is_missed: bool
    """Something was not done without it."""
    is_told: bool
    """With its verb and its resource."""
    is_finished: bool
    """With the right all was done that was to be done."""


async def outcomes(
    every: Iterable[Right], without: Callable[[Right], Awaitable[Outcome]]
) -> list[Outcome]:
    """Some of them side by side."""
    limit = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(right: Right) -> Outcome:
        async with limit:
            return await without(right)

    return await asyncio.gather(*map(one, every))


def note(options: Options, measurement: str, found: Iterable[Outcome]) -> None:
    """Keeps each outcome."""
    for it in found:
        rest = dict(zip(it._fields[1:], it[1:], strict=True))
        options.note(measurement, right=str(it.right), **rest)


@contextmanager
def logged() -> Iterator[Sequence[str]]:
    """What is written to the log meanwhile."""
    found: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)  # as the program's own
    try:
        yield found
    finally:
        log.setLevel(level)
        log.removeHandler(handler)
