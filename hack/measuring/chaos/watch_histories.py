"""Random histories of a collection on an API server that does everything wrong, against a model.

F01 to F10 at once, by the thousand: what is told must equal what is there when the faults are over.
"""

import asyncio
from collections.abc import Iterator

from hack.measuring import registry
from hack.measuring.figures import Figure
from tests.kube import histories

NAME = "watch-histories"
PORTION = 100


@registry.CHAOS.measures(NAME)
def watch_histories(options: registry.Options) -> Iterator[Figure]:
    """Of the client that follows a collection; seeds from the one given on."""
    number, first = options.times(10_000, 500), options.seed
    divergences, steps = 0, 0
    for begin in range(first, first + number, PORTION):
        count = min(PORTION, first + number - begin)
        found, trouble = asyncio.run(_lived(begin, count))
        steps += found
        divergences += bool(trouble)
        options.note(NAME, first=begin, count=count, steps=found, trouble=trouble)
    yield Figure("histories", number, "")
    yield Figure("steps taken", steps, "")
    yield Figure("divergences", divergences, "", 0)


async def _lived(first: int, count: int) -> tuple[int, str]:
    try:
        return sum((await histories.histories(count, first)).values()), ""
    except histories.DivergenceError as error:
        return 0, str(error)
