"""The cost of one edit: the processor time, and the work, which does not depend on the machine."""

import time
from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from contour.events import Batch
from hack.measuring import metered
from tests.testbed import world
from tests.testbed.figures import Figure
from tests.testbed.world import Document


class Edit(NamedTuple):
    """The cost of an edit, the median of several."""

    seconds: float
    """Of processor time."""
    runs: float
    parts: float


async def edit(made: metered.Metered, documents: Iterable[Document]) -> Edit:
    """Applies the documents one after another; each changes the configuration of Envoy."""
    taken = [await _taken(made, world.batch(it)) for it in documents]
    return Edit(*map(median, zip(*taken, strict=True)))


async def _taken(made: metered.Metered, batch: Batch) -> Edit:
    start = time.process_time()
    work = await made.change(batch)
    if not work.parts:
        raise AssertionError("Envoy is told nothing of an edit")
    return Edit(time.process_time() - start, work.runs, work.parts)


def figures(name: str, found: Edit, most: float | None, parts: int | None) -> Iterator[Figure]:
    """The figures of an edit; `most` is the target in milliseconds."""
    yield Figure(f"{name}: processor time", found.seconds * 1000, "ms", most)
    yield Figure(f"{name}: rules run", found.runs, "")
    yield Figure(f"{name}: parts published", found.parts, "", parts)
