"""How a process of ours lives: until it is told to stop, or one of its activities fails.

For `contour run` and `contour serve` alike. What is to end depends on what came before it, and
whoever waits for us does not wait for ever: the kubelet kills after its grace. So each step of the
end has its seconds; one that fails or takes longer is told and left behind.
"""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NamedTuple

log = logging.getLogger(__name__)


class Step(NamedTuple):
    """One thing to end."""

    name: str
    end: Callable[[], Awaitable[None]]
    seconds: float


async def until(
    stopped: asyncio.Event,
    activities: Iterable[Coroutine[object, object, None]],
    endings: Sequence[Step] = (),
) -> None:
    """Runs the activities until one of them fails, or we are told to stop and have taken leave."""
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
    """What the first build makes lives as long as the process: no collection looks at it again.

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
    """For a pass over the graph, which makes no circles and keeps nearly all that it makes: one
    collection comes after it, in place of hundreds amid it that find nothing."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()
