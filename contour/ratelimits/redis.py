"""Counters in a Redis, which several services share, by the commands of envoyproxy/ratelimit.

One round trip at a time: hits that come meanwhile go together in the next. A round trip costs this
process more than the hits in it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from redis.asyncio import Redis as Client

from contour.ratelimits.counting import Hit

TIMEOUT = 0.8  # seconds; Envoy waits for one


@dataclass(slots=True)
class _Waiting:
    """Hits that are to be counted, at a time."""

    hits: Sequence[Hit]
    now: int
    counted: asyncio.Future[Sequence[int]]
    """The counts afterwards, or an OSError."""


class Redis:
    """Counters in a Redis at a URL: `redis://`, or `rediss://` for TLS."""

    def __init__(self, url: str, authority: str = "") -> None:
        """`authority` is the PEM of who signed its certificate; empty: whom the machine trusts."""
        trust = {"ssl_ca_data": authority} if authority else {}
        self._client = Client.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, **trust
        )
        self._waiting: list[_Waiting] = []
        self._sending: asyncio.Future[None] | None = None

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window; the counts afterwards. Raises `OSError`."""
        mine = _Waiting(hits, now, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        if self._sending is None:
            self._sending = asyncio.ensure_future(self._send())
        return await mine.counted

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.aclose()

    async def _send(self) -> None:
        """Round trips until nobody waits."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                counts = iter(await self._counted(batch))
            except Exception as error:  # whatever it is, nobody waits for ever
                for it in batch:
                    it.counted.set_exception(OSError(f"Redis does not count: {error}"))
                continue
            for it in batch:
                it.counted.set_result(tuple(islice(counts, len(it.hits))))
        self._sending = None

    async def _counted(self, batch: Sequence[_Waiting]) -> Sequence[int]:
        """The counts of all hits, in their order, and then other answers."""
        pipeline, windows = self._client.pipeline(transaction=False), dict[str, int]()
        for waiting in batch:
            for it in waiting.hits:
                name = f"contour/{waiting.now - waiting.now % it.seconds}/{it.key.hex()}"
                pipeline.incrby(name, it.hits)
                windows[name] = it.seconds
        for name, seconds in windows.items():
            pipeline.expire(name, seconds)
        return await pipeline.execute()
