"""Runs a process until it is told to stop, or until one of its activities fails.

For `contour run` and `contour serve`. A shutdown has steps in a fixed order, and it must not take
too long: the kubelet kills the process after the grace period. So each step has a time limit; one
that fails or takes longer is logged and skipped.
"""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NamedTuple

log = logging.getLogger(__name__)


class Step(NamedTuple):
    """One step of a shutdown."""

    name: str
    end: Callable[[], Awaitable[None]]
    seconds: float


async def until(
    stopped: asyncio.Event,
    activities: Iterable[Coroutine[object, object, None]],
    endings: Sequence[Step] = (),
) -> None:
    """Runs the activities until one of them fails, or until `stopped` is set; then takes the steps
    of the shutdown."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(it) for it in activities]
        await stopped.wait()
        for step in endings:
            await _take(step)
        for task in running:
            task.cancel()


async def _take(step: Step) -> None:
    try:
        async with asyncio.timeout(step.seconds):
            await step.end()
    except TimeoutError:
        log.warning(
            "shutdown step %r took longer than %g s; continuing without it", step.name, step.seconds
        )
    except Exception:
        log.exception("shutdown step %r failed; continuing without it", step.name)


@contextmanager
def without_collections() -> Generator[None]:
    """Keeps the garbage collector away from what the first build makes, which lives as long as the
    process.

    At 10,000 hosts a full collection would stop everything for a quarter of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def collections_later() -> Generator[None]:
    """For a pass over the graph, which makes no reference cycles and keeps nearly all that it
    makes: one garbage collection after it replaces hundreds during it that would find nothing."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()
