"""How requests are counted that RateLimitFilters limit, as in a ContourConfiguration."""

from crds.fields import Flag
from crds.meta import model
from crds.ratelimitservice import RateLimitService, Redis
from crds.rules import rule


@model
class RateLimitFilterSettings:
    """How requests are counted that RateLimitFilters limit: by a process beside Envoy with `contour
    run`, and in a cluster by the rate limit service that `service` asks for."""

    fail_closed: Flag = False
    """If true, requests that cannot be counted, because the rate limit service does not answer
    within a second, are answered with 500; if false, they pass. The default is false."""
    redis: Redis | None = None
    """The Redis in which the rate limit service counts; `service` needs it. It has no effect with
    `contour run`, which counts in memory."""
    service: RateLimitService | None = None
    """The rate limit service that the instance makes in its namespace in a cluster. Without it,
    rules with RateLimitFilters answer 500 there. It has no effect with `contour run`."""
    _counters = rule(
        "redis must be set if service is set",
        lambda it: it.service is None or it.redis is not None,
        "!has(self.service) || has(self.redis)",
    )
