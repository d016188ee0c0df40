"""Whether an API server answers: for those who wait until it does again, or must know for how long
it has not.

Any answer to any request of one client counts, and so does every line of a watch. A server is
silent from the moment on in which something is asked and nothing comes; who asks nothing learns
nothing, so somebody has to ask regularly (a leader election does). An answer of 5xx is none:
it comes from what stands before a server that is away, or from one that cannot serve.
"""

import asyncio
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager

Cut = Callable[[float, int], None]
"""Ends every connection made before a time of the event loop, but not that of this descriptor."""


def _nothing(_: float, __: int) -> None:
    """There are no connections."""


class Reach:
    """What one client notices of its server. Times are those of the event loop, in seconds."""

    def __init__(self, outage: float = 3.0, dead: float = 10.0, spread: float = 1.0) -> None:
        """A silence is an outage from so many seconds on: after a shorter one no pause has grown
        long enough to be cut short. From `dead` seconds on connections are not believed to have
        outlived it; a server that is only slow must not have to open all watches again. Those who
        wait come back spread over so many seconds."""
        self.outage = outage
        self.dead = dead
        self.spread = spread
        self._silent_since: float | None = None
        self._open = 0  # requests under way
        self._returned = asyncio.Event()
        self.cut: Cut = _nothing
        """What is done with connections that have seemingly outlived a long outage. What was sent
        over them meanwhile is lost, or comes when a retransmission does; watches must not wait for
        that."""
        self.outages = 0
        """How many are over."""

    @property
    def silence(self) -> float:
        """For how many seconds it has answered nothing that was asked."""
        return 0.0 if self._silent_since is None else _now() - self._silent_since

    @contextmanager
    def asking(self) -> Generator[None]:
        """A request is under way."""
        if self._silent_since is None:
            self._silent_since = _now()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def answered(self, by: int = -1) -> None:
        """The server has sent something, over the connection of this descriptor."""
        since, self._silent_since = self._silent_since, _now() if self._open else None
        silence = 0.0 if since is None else _now() - since
        if silence >= self.outage:
            self._returns()
        if since is not None and silence >= self.dead:
            self.cut(since, by)

    async def pause(self, seconds: float) -> bool:
        """Waits so long, or until an outage is over and a moment more; whether one was."""
        deadline = _now() + seconds
        try:
            async with asyncio.timeout(seconds):
                await self._returned.wait()
        except TimeoutError:
            return False
        await asyncio.sleep(min(random.uniform(0.0, self.spread), max(0.0, deadline - _now())))
        return True

    def _returns(self) -> None:
        self.outages += 1
        self._returned.set()
        self._returned = asyncio.Event()


def _now() -> float:
    return asyncio.get_running_loop().time()
