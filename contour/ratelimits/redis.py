"""Counters in a Redis, which several services share, with the commands of envoyproxy/ratelimit.

There is one round trip at a time: hits that arrive meanwhile are sent together in the next one,
because a round trip costs this process more than its hits. What Redis refuses of one counter
concerns only those who count in it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from redis.asyncio import Redis as Client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError

from contour.ratelimits.counting import Hit

TIMEOUT = 0.8  # seconds; Envoy waits for one


@dataclass(slots=True)
class _Waiting:
    """Hits that wait to be counted, and their time."""

    hits: Sequence[Hit]
    now: int
    counted: asyncio.Future[Sequence[int]]
    """The counts afterwards, or an OSError."""

    def names(self) -> list[str]:
        """The names of the counters in Redis, one for each hit."""
        now = self.now
        return [f"contour/{now - now % it.seconds}/{it.key.hex()}" for it in self.hits]

    def settle(self, answers: Sequence[int | Exception]) -> None:
        """Takes what Redis answers for each hit."""
        fault = next((it for it in answers if isinstance(it, Exception)), None)
        if fault is not None:
            self.counted.set_exception(OSError(f"Redis does not count: {fault}"))
        else:
            self.counted.set_result(tuple(it for it in answers if isinstance(it, int)))


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
                answers = iter(await self._answers(batch))
            except Exception as error:  # whatever it is, no caller may wait for ever
                for it in batch:
                    it.settle([error])
                continue
            for it in batch:
                it.settle(tuple(islice(answers, len(it.hits))))
        self._sending = None

    async def _answers(self, batch: Sequence[_Waiting]) -> Sequence[int | Exception]:
        """The counts of all hits, in order, or why they are not counted."""
        pipeline, windows = self._client.pipeline(transaction=False), dict[str, int]()
        names = [name for it in batch for name in it.names()]
        for name, hit in zip(names, chain.from_iterable(it.hits for it in batch), strict=True):
            pipeline.incrby(name, hit.hits)
            windows[name] = hit.seconds
        for name, seconds in windows.items():
            pipeline.expire(name, seconds)
        found = await pipeline.execute(raise_on_error=False)
        if any(isinstance(it, ReadOnlyError) for it in found):
            # It has become a replica; a new connection may lead to the primary.
            await self._client.aclose()
        expiries = zip(windows, found[len(names) :], strict=True)
        lasting = {name: it for name, it in expiries if isinstance(it, Exception)}
        counts = zip(names, found, strict=False)
        return [lasting.get(name, it) for name, it in counts]


def _again() -> Retry:
    """One more try over a new connection: Redis closes those that are idle, and all when it is
    restarted. None after a timeout, for by then Envoy has decided."""
    return Retry(NoBackoff(), 1, (RedisConnectionError,))
