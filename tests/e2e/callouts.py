"""The servers that Envoy itself asks, beside an instance: in a thread with a loop of its own."""

import asyncio
import contextlib
from collections.abc import Iterator
from queue import Queue
from threading import Thread

from tests.contour.envoy.served import peers


@contextlib.contextmanager
def serving() -> Iterator[peers.Peers]:
    """Runs them until the caller is done."""
    running: Queue[tuple[peers.Peers, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def run() -> None:
        async with peers.serving() as found:
            over = asyncio.Event()
            running.put((found, asyncio.get_running_loop(), over))
            await over.wait()

    thread = Thread(target=asyncio.run, args=(run(),))
    thread.start()
    found, loop, over = running.get(timeout=30)
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
