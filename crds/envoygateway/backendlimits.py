"""The limits of a BackendTrafficPolicy: circuit breakers, sizes of bodies.

The fields are those of Envoy Gateway 1.9. A limit that is not served closes the routes.
"""

from crds.envoygateway.opaque import Amount
from crds.fields import Natural32, Positive32, Uint32
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
    max_requests_per_connection: Uint32 | None = None
    """The requests that a connection may carry before it is closed; `0` is without limit. The
    default is what the ContourConfiguration says."""
    per_endpoint: PerEndpoint | None = None
    """What may be open towards each endpoint."""
    retry_budget: RetryBudget | None = None
    """The share of the requests that may be retries, instead of `maxParallelRetries`."""


@model
class RequestBuffer:
    """Whole bodies of requests are read before a backend gets any of it."""

    limit: Amount
    """The bytes that a body may have, such as `64Ki`; larger ones are answered 413, unless they
    come in one frame of HTTP/2 (at most 16 KiB)."""
