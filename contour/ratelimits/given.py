"""What the graph says of the process of our rate limit service, as its settings."""

from contour.ratelimits.settings import Settings
from dag.ratelimitservice import Process


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
