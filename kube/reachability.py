"""Whether an API server answers, for callers that wait until it does again, or need to know for how
long it has not.

Any answer to any request of one client counts, and so does every line of a watch. A server counts
as silent from the moment at which a request is sent and not answered; without requests nothing is
noticed, so something has to send them regularly (leader election does). An answer of 5xx does not
count: it comes from a proxy before an unreachable server, or from one that cannot serve.
"""

import asyncio
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager

Cut = Callable[[float, int], None]
"""Closes every connection made before a time of the event loop, except that of this descriptor."""


def _nothing(_: float, __: int) -> None:
    """The `Cut` of a client without connections."""


class Reachability:
    """Whether the server of one client answers. Times are those of the event loop, in seconds."""

    def __init__(self, outage: float = 3.0, dead: float = 10.0, spread: float = 1.0) -> None:
        """A silence of at least `outage` seconds is an outage: after a shorter one, no pause has
        grown long enough to be cut short. After `dead` seconds of silence, connections are assumed
        to be broken; with a server that is only slow, watches must not all be opened again. Waiting
        callers return spread over `spread` seconds."""
        self.outage = outage
        self.dead = dead
        self.spread = spread
        self._silent_since: float | None = None
        self._open = 0  # requests under way
        self._returned = asyncio.Event()
        self.cut: Cut = _nothing
        """Closes connections that seem to have survived a long outage. Data that was sent over them
        meanwhile is lost, or arrives with a later retransmission; watches must not wait for
        that."""
        self.outages = 0
        """The number of outages that have ended."""

    @property
    def silence(self) -> float:
        """The seconds for which nothing that was asked has been answered."""
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
        """Waits so long, or until a moment after the end of an outage; whether one ended."""
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
