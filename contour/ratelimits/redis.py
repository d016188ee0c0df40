"""Counters in a Redis, which several services share, with the commands of envoyproxy/ratelimit.

There is one round trip at a time: hits that arrive meanwhile are sent together in the next one,
because a round trip costs this process more than its hits.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from redis.asyncio import Redis as Client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from contour.ratelimits.counting import Hit

TIMEOUT = 0.8  # seconds; Envoy waits for one


@dataclass(slots=True)
class _Waiting:
    """Hits that wait to be counted, and their time."""

    hits: Sequence[Hit]
    now: int
    counted: asyncio.Future[Sequence[int]]
    """The counts afterwards, or an OSError."""


class Redis:
    """Counters in a Redis at a URL: `redis://`, or `rediss://` for TLS."""

    def __init__(self, url: str, authority: str = "") -> None:
        """`authority` is the PEM of the authority of its certificate; empty: the system's
        authorities."""
        trust = {"ssl_ca_data": authority} if authority else {}
        self._client = Client.from_url(
            url,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=_again(),
            **trust,
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
        """Makes round trips until no hits wait."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                counts = iter(await self._counted(batch))
            except Exception as error:  # whatever it is, no caller may wait for ever
                for it in batch:
                    it.counted.set_exception(OSError(f"Redis does not count: {error}"))
                continue
            for it in batch:
                it.counted.set_result(tuple(islice(counts, len(it.hits))))
        self._sending = None

    async def _counted(self, batch: Sequence[_Waiting]) -> Sequence[int]:
        """The counts of all hits, in order, followed by other answers."""
        pipeline, windows = self._client.pipeline(transaction=False), dict[str, int]()
        for waiting in batch:
            for it in waiting.hits:
                name = f"contour/{waiting.now - waiting.now % it.seconds}/{it.key.hex()}"
                pipeline.incrby(name, it.hits)
                windows[name] = it.seconds
        for name, seconds in windows.items():
            pipeline.expire(name, seconds)
        return await pipeline.execute()


def _again() -> Retry:
    """One more try over a new connection: Redis closes those that are idle, and all when it is
    restarted. None after a timeout, for by then Envoy has decided."""
    return Retry(NoBackoff(), 1, (RedisConnectionError,))
