"""Counters in a Redis, which several services share, by the commands of envoyproxy/ratelimit.

One round trip at a time: hits that come meanwhile go together in the next, which whoever is first
in line makes for all. A round trip costs this process more than the hits in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from redis import Redis as Client
from redis.exceptions import RedisError

from contour.ratelimits.counting import Hit

TIMEOUT = 0.8  # seconds; Envoy waits for one


@dataclass(slots=True)
class _Waiting:
    """Hits that are to be counted, at a time."""

    hits: Sequence[Hit]
    now: int
    counts: Sequence[int] = ()
    """Afterwards; empty before, and if they cannot be counted."""
    fault: str = ""
    """Why they cannot."""


class Redis:
    """Counters in a Redis at a URL: `redis://`, or `rediss://` for TLS."""

    def __init__(self, url: str, authority: str = "") -> None:
        """`authority` is the PEM of who signed its certificate; empty: whom the machine trusts."""
        trust = {"ssl_ca_data": authority} if authority else {}
        self._client = Client.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, **trust
        )
        self._lock, self._line = Lock(), Lock()
        self._waiting: list[_Waiting] = []

    def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window; the counts afterwards. Raises `OSError`."""
        mine = _Waiting(hits, now)
        with self._lock:
            self._waiting.append(mine)
        with self._line:
            if not mine.counts and not mine.fault:
                self._send()
        if mine.fault:
            raise OSError(mine.fault)
        return mine.counts

    def close(self) -> None:
        """Ends the connections."""
        self._client.close()

    def _send(self) -> None:
        """One round trip for all who wait."""
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            counts = iter(self._counted(batch))
        except (RedisError, OSError) as error:
            for it in batch:
                it.fault = f"Redis does not count: {error}"
            return
        for it in batch:
            it.counts = tuple(islice(counts, len(it.hits)))

    def _counted(self, batch: Sequence[_Waiting]) -> Sequence[int]:
        """The counts of all hits, in their order, and then other answers."""
        pipeline, windows = self._client.pipeline(transaction=False), dict[str, int]()
        for waiting in batch:
            for it in waiting.hits:
                name = f"contour/{waiting.now - waiting.now % it.seconds}/{it.key}"
                pipeline.incrby(name, it.hits)
                windows[name] = it.seconds
        for name, seconds in windows.items():
            pipeline.expire(name, seconds)
        return pipeline.execute()
