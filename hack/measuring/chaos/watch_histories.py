"""Random histories of a collection on an API server that does everything wrong, against a model.

F01 to F10 at once, in thousands of histories: what a client has in the end must equal what is there
when the faults are over.
"""

import asyncio
from collections.abc import Iterator

from tests.kube import histories
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

NAME = "watch-histories"
PORTION, TOGETHER = 50, 8


@measures(NAME)
def watch_histories(options: Options) -> Iterator[Figure]:
    """Of the client that follows a collection; seeds from the one given on."""
    number, first = options.times(10_000, 500), options.seed
    found = asyncio.run(_all(range(first, first + number, PORTION), first + number, options))
    yield Figure("histories", number, "")
    yield Figure("steps taken", sum(steps for steps, _ in found), "")
    yield Figure("divergences", sum(bool(trouble) for _, trouble in found), "", 0)


async def _all(begins: range, end: int, options: Options) -> list[tuple[int, str]]:
    """A history consists mostly of waiting, so several run side by side."""
    rest, found = iter(begins), []

    async def live() -> None:
        for begin in rest:
            count = min(PORTION, end - begin)
            steps, trouble = await _lived(begin, count)
            found.append((steps, trouble))
            options.note(NAME, first=begin, count=count, steps=steps, trouble=trouble)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(TOGETHER):
            tasks.create_task(live())
    return found


async def _lived(first: int, count: int) -> tuple[int, str]:
    """Runs histories; returns the number of steps, and the divergences as text."""
    try:
        return sum((await histories.histories(count, first)).values()), ""
    except* histories.DivergenceError as errors:
        trouble = str(errors.exceptions)
    return 0, trouble
