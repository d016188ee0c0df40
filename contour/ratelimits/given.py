"""What the process of our rate limit service is given: its settings, as the graph says them, and
what it needs of this machine."""

from importlib.util import find_spec

from contour.ratelimits.settings import Settings
from dag.ratelimitservice import Process


def lacking() -> str:
    """What it would need to count in a Redis and does not have; empty if nothing."""
    if find_spec("redis") is not None:
        return ""
    return "to count in a Redis, the Python package `redis` is needed: pip install 'redis>=6,<9'"


def settings(found: Process) -> Settings:
    """The settings that the process is started with."""
    redis, pair = found.redis, found.pair
    return Settings(
        redis=redis.url if redis is not None else "",
        redis_authority=redis.authority.decode() if redis is not None else "",
        certificate=pair.chain.decode() if pair is not None else "",
        key=pair.key.decode() if pair is not None else "",
        authority=found.authorities.decode(),
    )
