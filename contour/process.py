"""How a process of ours lives: until it is told to stop, or one of its activities fails.

For `contour run` and `contour serve` alike.
"""

import asyncio
import gc
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


def stop_signals() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second one ends the waiting for requests, too."""
    stopped = asyncio.Event()
    loop, main = asyncio.get_running_loop(), asyncio.current_task()
    assert main is not None

    def stop() -> None:
        if stopped.is_set():
            main.cancel()
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopped


async def until(stopped: asyncio.Event, *activities: Coroutine[Any, Any, None]) -> None:
    """Runs the activities until we are told to stop, or one of them fails."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(it) for it in activities]
        await stopped.wait()
        for task in running:
            task.cancel()


@contextmanager
def without_collections() -> Iterator[None]:
    """What the first build makes lives as long as the process: no collection looks at it again.

    At 10,000 hosts a full collection would stop everything for a quarter of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
