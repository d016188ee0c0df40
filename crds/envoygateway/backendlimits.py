"""The limits of a BackendTrafficPolicy: circuit breakers, rates of requests, sizes of bodies.

The fields are those of Envoy Gateway 1.9. A limit that is not served closes the routes.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.opaque import Amount, Opaque
from crds.fields import Flag, Natural32, Positive32, Uint32
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_CLOSED = Unserved(guards=True)
_LEFT = Unserved()


@model
class PerEndpoint:
    """What may be open towards each endpoint."""

    max_connections: Uint32 = 1024
    """The connections that may be open to one endpoint. The default is `1024`."""


@model
class Fraction:
    """A share of a whole."""

    numerator: Natural32
    """The number of parts that are meant."""
    denominator: Positive32 = 100
    """The number of parts of the whole. The default is `100`."""
    _share = rule(
        "numerator must be less than or equal to denominator",
        lambda it: it.numerator <= it.denominator,
        "self.numerator <= self.denominator",
    )


@model
class RetryBudget:
    """The share of the requests that may be retries."""

    percent: Fraction
    """The retries, as a share of the active requests."""
    min_retry_concurrency: Uint32 | None = None
    """The number of retries that may always be active."""


@model
class CircuitBreaker:
    """What may be open towards a backend at once, for each Envoy; further requests get 503."""

    max_connections: Uint32 = 1024
    """The connections that may be open. The default is `1024`."""
    max_pending_requests: Uint32 = 1024
    """The requests that may wait for a connection. The default is `1024`."""
    max_parallel_requests: Uint32 = 1024
    """The requests that may be active. The default is `1024`."""
    max_parallel_retries: Uint32 = 1024
    """The retries that may be active. The default is `1024`."""
    max_requests_per_connection: Annotated[Uint32 | None, _LEFT] = None
    """The requests that a connection may carry before it is closed."""
    per_endpoint: PerEndpoint | None = None
    """What may be open towards each endpoint."""
    retry_budget: RetryBudget | None = None
    """The share of the requests that may be retries, instead of `maxParallelRetries`."""


@model
class LimitValue:
    """So many requests in a unit of time."""

    requests: Uint32
    """The number of requests that may pass in one unit of time."""
    unit: Annotated[
        Literal["Second", "Minute", "Hour", "Day", "Week", "Month", "Year"],
        Unserved(guards=True, values=("Day", "Week", "Month", "Year")),
    ]
    """The unit of time. `Day`, `Week`, `Month` and `Year` are not served, and close the routes."""
    from_metadata: Annotated[Opaque | None, _CLOSED] = None
    """Which metadata of a request says the limit."""


@model
class LimitRule:
    """A limit, and the requests that it counts."""

    client_selectors: Annotated[tuple[Opaque, ...], _CLOSED] = Field(default=(), max_length=8)
    """The requests that are counted. Without any, all requests of the route are counted."""
    limit: LimitValue
    """How many requests may pass; further ones are answered 429."""
    cost: Annotated[Opaque | None, _CLOSED] = None
    """How much a request counts."""
    shared: Annotated[Flag | None, _CLOSED] = None
    """Whether the routes of the policy are counted together."""
    shadow_mode: Annotated[Flag | None, _CLOSED] = None
    """Whether requests beyond the limit pass, and are only counted."""
    x_rate_limit_headers: Annotated[str | None, _LEFT] = None
    """Whether answers say how many requests are left."""


@model
class LocalLimit:
    """Limits that each Envoy counts on its own."""

    rules: tuple[LimitRule, ...] = Field(default=(), max_length=16)
    """The limits. One is served, for all requests; several close the routes."""


@model
class PolicyRateLimit:
    """How many requests may pass; further ones are answered 429."""

    type: Literal["Global", "Local"] | None = None
    """Which of its neighbours is meant. It changes nothing."""
    local: LocalLimit | None = None
    """Limits that each Envoy counts on its own, for each route."""
    global_: Annotated[Opaque | None, _CLOSED] = Field(default=None, validation_alias="global")
    """Limits that all Envoys count together."""


@model
class RequestBuffer:
    """Whole bodies of requests are read before a backend gets any of it."""

    limit: Amount
    """The bytes that a body may have, such as `64Ki`; larger ones are answered 413."""
