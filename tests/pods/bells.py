"""Wakes all who wait for something to change; they look for themselves what has."""

import asyncio


class Bell:
    """Whoever looks and then waits, without awaiting in between, misses nothing."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wakes all who wait now."""
        self._rung.set()
        self._rung = asyncio.Event()

    async def heard(self, seconds: float | None = None) -> None:
        """Returns when it rings, or when the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            pass
