"""RateLimitFilter: requests of a route rule are counted by a rate limit service.

The fields and limits are those of Envoy Gateway 0.3 to 0.5, which removed the kind in 0.6. What
relates several fields or needs parsing is checked by the rules.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.fields import Uint32
from crds.meta import ObjectMeta, model


@model
class RateLimitHeader:
    """A header that a client sends."""

    type: Literal["Exact", "RegularExpression", "Distinct"] = "Exact"
    """How the header is compared. `Exact` and `RegularExpression` count the requests whose header
    matches `value`; `Distinct` counts each value of the header apart. The default is `Exact`."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """The name of the header, compared without case."""
    value: Annotated[str, StringConstraints(max_length=1024)] | None = None
    """The value or regular expression. It must be absent if `type` is `Distinct` and present
    otherwise."""


@model
class SourceCIDR:
    """A range of client addresses."""

    type: str = "Exact"
    """`Exact` counts all clients of the range together, `Distinct` each of them apart. The default
    is `Exact`."""
    value: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """The range in CIDR notation, such as `192.0.2.0/24`."""


@model
class RateLimitSelector:
    """Conditions that a request must meet to be counted; all of them."""

    headers: tuple[RateLimitHeader, ...] = Field(default=(), max_length=16)
    """Conditions on the headers of the request. Each name may be given once."""
    source_ip: str | None = None
    """A range of client addresses in CIDR notation, which share one count. Use `sourceCIDR`
    instead."""
    source_cidr: SourceCIDR | None = Field(default=None, validation_alias="sourceCIDR")
    """A range of client addresses that the client of the request must be in."""


@model
class RateLimitValue:
    """So many requests in a unit of time."""

    requests: Uint32
    """The number of requests that are allowed in one unit of time."""
    unit: Literal["Second", "Minute", "Hour", "Day"]
    """The length of the windows of time in which requests are counted."""


@model
class RateLimitRule:
    """A limit, and the requests that it counts."""

    client_selectors: tuple[RateLimitSelector, ...] = Field(default=(), max_length=8)
    """The requests that are counted: those that meet all selectors. Without any, all requests of
    the route rule are counted."""
    limit: RateLimitValue
    """The number of requests that are allowed; further ones are answered 429."""


@model
class GlobalRateLimit:
    """Limits that all Envoys count together."""

    rules: Annotated[tuple[RateLimitRule, ...], Field(max_length=16)]
    """The limits. Each of them counts on its own, and a request must be within all of them."""


@model
class RateLimitFilterSpec:
    """How many requests are allowed, and where they are counted."""

    type: Literal["Global"]
    """Where requests are counted: `Global`, by a service that all Envoys ask."""
    global_: GlobalRateLimit | None = Field(default=None, validation_alias="global")
    """The limits that all Envoys count together. They must be set if `type` is `Global`."""


@model
class RateLimitFilter:
    """Requests of the route rules that name this filter in an `extensionRef` are counted, and
    answered 429 beyond the limits."""

    metadata: ObjectMeta
    spec: RateLimitFilterSpec
    """How many requests are allowed, and where they are counted."""
