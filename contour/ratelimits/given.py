"""The input of our rate limit service's process: its settings from the graph, and what it needs on
this machine."""

from importlib.util import find_spec

from contour.ratelimits.settings import Settings
from dag.ratelimitservice import Process


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
        redis_authority=_text(redis.authority) if redis is not None else "",
        certificate=_text(pair.chain) if pair is not None else "",
        key=_text(pair.key) if pair is not None else "",
        authority=_text(found.authorities),
    )


def _text(pem: bytes) -> str:
    """A PEM file, which may have anything beside its blocks; these are ASCII."""
    return pem.decode("ascii", "ignore")
