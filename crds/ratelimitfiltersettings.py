"""How requests are counted that RateLimitFilters limit, as in a ContourConfiguration."""

from crds.fields import Flag
from crds.meta import model
from crds.ratelimitservice import RateLimitService, Redis


@model
class RateLimitFilterSettings:
    """How requests are counted that RateLimitFilters limit: by a process beside Envoy with `contour
    run`, and in a cluster by the rate limit service that `service` asks for."""

    fail_closed: Flag = False
    """If true, requests that cannot be counted, because the rate limit service does not answer
    within a second, are answered with 500; if false, they pass. The default is false."""
    redis: Redis | None = None
    """The Redis that counts requests. By default, without this field, they are counted in memory:
    with `contour run` by its process, in a cluster by a process of the replica that leads, so that
    counts start again when another replica becomes the leader."""
    service: RateLimitService | None = None
    """The rate limit service of the instance in a cluster. Without it, rules with RateLimitFilters
    answer 500 there. It has no effect with `contour run`."""
