"""Counters in a Redis, which several services share, by the commands of envoyproxy/ratelimit."""

from collections.abc import Sequence

from redis.asyncio import Redis as Client
from redis.exceptions import RedisError

from contour.ratelimits.counting import Hit

TIMEOUT = 0.8  # seconds; Envoy waits for one


class Redis:
    """Counters in a Redis at a URL: `redis://`, or `rediss://` for TLS."""

    def __init__(self, url: str, authority: str = "") -> None:
        """`authority` is the PEM of who signed its certificate; empty: whom the machine trusts."""
        trust = {"ssl_ca_data": authority} if authority else {}
        self._client = Client.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, **trust
        )

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        """Counts each in its window, all in one round trip; the counts afterwards. Raises
        `OSError`."""
        pipeline = self._client.pipeline(transaction=False)
        for it in hits:
            name = f"contour/{now - now % it.seconds}/{it.key}"
            pipeline.incrby(name, it.hits)
            pipeline.expire(name, it.seconds)
        try:
            answers = await pipeline.execute()
        except RedisError as error:
            raise OSError(f"Redis does not count: {error}") from error
        return answers[::2]

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.aclose()
