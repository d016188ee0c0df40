# What we use of redis-py, of which its own types are partly unknown.

from redis.asyncio.retry import Retry

class Pipeline:
    def incrby(self, name: str, amount: int) -> object: ...
    def expire(self, name: str, time: int) -> object: ...
    async def execute(self, raise_on_error: bool) -> list[int | Exception]: ...

class Redis:
    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        socket_timeout: float,
        socket_connect_timeout: float,
        retry: Retry,
        ssl_ca_data: str = ...,
    ) -> Redis: ...
    def pipeline(self, *, transaction: bool) -> Pipeline: ...
    async def aclose(self) -> None: ...
