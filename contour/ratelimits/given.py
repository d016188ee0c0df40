"""The input of our rate limit service's process: its settings from the graph, and what it needs on
this machine."""

from importlib.util import find_spec

from contour.ratelimits.settings import Settings
from dag.ratelimitservice import Process
from dag.references import parsing


def lacking() -> str:
    """What is missing on this machine for counting in a Redis; empty if nothing is."""
    if find_spec("redis") is not None:
        return ""
    return "to count in a Redis, the Python package `redis` is needed: pip install 'redis>=6,<9'"


def settings(found: Process) -> Settings:
    """The settings that the process is started with."""
    redis, pair = found.redis, found.pair
    return Settings(
        redis=redis.url if redis is not None else "",
        redis_authority=parsing.text(redis.authority) if redis is not None else "",
        certificate=parsing.text(pair.chain) if pair is not None else "",
        key=parsing.text(pair.key) if pair is not None else "",
        authority=parsing.text(found.authorities),
    )
