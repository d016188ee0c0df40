"""Wakes all who wait for something to change; they look for themselves what has."""

import asyncio


class Wakeup:
    """Whoever looks and then waits, without awaiting in between, misses nothing."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Wakes all who wait now."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, seconds: float | None = None) -> None:
        """Returns when it is woken, or when the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass
