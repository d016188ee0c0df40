from redis.backoff import NoBackoff
from redis.exceptions import RedisError

class Retry:
    def __init__(
        self, backoff: NoBackoff, retries: int, supported_errors: tuple[type[RedisError], ...]
    ) -> None: ...
