"""How requests are counted that RateLimitFilters limit, as in a ContourConfiguration."""

from crds.fields import Flag
from crds.meta import model


@model
class RateLimitFilterSettings:
    """How requests are counted that RateLimitFilters limit. Only `contour run` counts them, in a
    process beside Envoy."""

    fail_closed: Flag = False
    """If true, requests that cannot be counted, because the rate limit service does not answer
    within a second, are answered with 500; if false, they pass. The default is false."""
