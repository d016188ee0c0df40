"""The policies of an HTTPProxy route about how requests are forwarded: time, tries, paths, headers.

Redirects and answers that need no backend are in `answers.py`, what keeps requests out in
`authorization.py`, `jwt.py` and `ratelimits.py`.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field, Strict, StringConstraints

from crds.fields import COOKIE_NAME, DNS_NAME, Duration, Flag, NonEmpty, Percent, Timeout, Uint32
from crds.meta import model

RetryOn = Literal[
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "envoy-ratelimited",
    "retriable-4xx",
    "refused-stream",
    "retriable-status-codes",
    "retriable-headers",
    "http3-post-connect-failure",
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
]
RETRY_ON = frozenset(get_args(RetryOn))
"""The failures that Envoy can try again after."""


@model
class TimeoutPolicy:
    """Limits of time; `infinity` lifts one."""

    response: Timeout | None = None
    """How long the whole answer may take. Envoy's own limit is 15 seconds."""
    idle: Timeout | None = None
    """How long a request may rest without a byte in either direction."""
    idle_connection: Timeout | None = None
    """How long a connection to the backend is kept without requests."""


@model
class RetryPolicy:
    """When and how often a failed request is tried again."""

    count: Annotated[int, Strict(), Field(ge=-1, le=2**32 - 1)] = 1
    """How many more tries; 0 means 1, and -1 none."""
    per_try_timeout: Timeout | None = None
    """How long one try may take."""
    retry_on: tuple[RetryOn, ...] = ()
    """The failures to try again after; `5xx` if empty."""
    retriable_status_codes: tuple[Uint32, ...] = ()
    """Status codes to try again after, with `retriable-status-codes`."""


@model
class ReplacePrefix:
    """A new start of the path."""

    prefix: NonEmpty | None = None
    """The route's prefix, includes counted in, that this is for; any, if absent."""
    replacement: NonEmpty
    """What stands in place of the prefix."""


@model
class PathRewritePolicy:
    """How the path is changed before the request is forwarded."""

    replace_prefix: tuple[ReplacePrefix, ...] = ()
    """New starts of the path; the one for the route's own prefix wins."""


@model
class HeaderValue:
    """A header and its value."""

    name: NonEmpty
    """The name of the header."""
    value: NonEmpty
    """Its value; may have Envoy's variables such as `%REQ(X-Request-Id)%` in it."""


@model
class HeadersPolicy:
    """Headers that are set and removed."""

    set: tuple[HeaderValue, ...] = ()
    """Headers to overwrite, or to add."""
    remove: tuple[str, ...] = ()
    """Names of headers to take away."""


@model
class HeaderHashOptions:
    """A header whose value is hashed."""

    header_name: NonEmpty
    """The name of the header."""


@model
class QueryParameterHashOptions:
    """A query parameter whose value is hashed."""

    parameter_name: NonEmpty
    """The name of the parameter."""


@model
class RequestHashPolicy:
    """A part of the request that decides which endpoint it goes to; exactly one source is set."""

    terminal: Flag = False
    """If this source gives a hash, do not look at the following ones."""
    header_hash_options: HeaderHashOptions | None = None
    """Hash a header."""
    query_parameter_hash_options: QueryParameterHashOptions | None = None
    """Hash a query parameter."""
    hash_source_ip: Flag = False
    """Hash the address of the client."""


@model
class LoadBalancerPolicy:
    """How requests are spread over the endpoints of a Service."""

    strategy: str = ""
    """RoundRobin (also if empty), Random, WeightedLeastRequest, Cookie or RequestHash."""
    request_hash_policies: tuple[RequestHashPolicy, ...] = ()
    """With RequestHash: what is hashed, in order."""


CookieText = Annotated[
    str,
    StringConstraints(pattern=r"^[^;\x7f\x00-\x1f]+$", min_length=1, max_length=4096),
]
CookieName = Annotated[
    str,
    StringConstraints(
        pattern=COOKIE_NAME,
        min_length=1,
        max_length=4096,
    ),
]
DomainName = Annotated[
    str,
    StringConstraints(
        pattern=DNS_NAME,
        min_length=1,
        max_length=4096,
    ),
]


@model
class CookiePathRewrite:
    """Another `Path` of a cookie."""

    value: CookieText
    """The new path."""


@model
class CookieDomainRewrite:
    """Another `Domain` of a cookie."""

    value: DomainName
    """The new domain."""


@model
class CookieRewritePolicy:
    """How the attributes of a cookie are changed on its way to the client."""

    name: CookieName
    """The cookie."""
    path_rewrite: CookiePathRewrite | None = None
    """Another path."""
    domain_rewrite: CookieDomainRewrite | None = None
    """Another domain."""
    secure: Flag | None = None
    """With or without `Secure`; absent: as it is."""
    same_site: Literal["Strict", "Lax", "None"] | None = None
    """Another `SameSite`; absent: as it is."""


@model
class SlowStartPolicy:
    """A new endpoint gets its share of the requests little by little."""

    window: Duration
    """How long that takes."""
    aggression: Annotated[str, StringConstraints(pattern=r"^([0-9]+([.][0-9]+)?|[.][0-9]+)$")] = (
        "1.0"
    )
    """How the share grows: 1.0 evenly, more than that faster at the end."""
    min_weight_percent: Percent = 10
    """The share to start with, in percent of the endpoint's own."""
