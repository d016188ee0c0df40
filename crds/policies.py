"""Policies of an HTTPProxy route that say how requests are forwarded: timeouts, retries, headers.

Redirects and responses without a backend are in `answers.py`; what rejects requests is in
`authorization.py`, `jwt.py` and `ratelimits.py`.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field, Strict, StringConstraints

from crds.fields import (
    COOKIE_NAME,
    DNS_NAME,
    Duration,
    Flag,
    NonEmpty,
    Percent,
    SameSite,
    Timeout,
    Uint32,
)
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
"""The failures after which Envoy can retry a request."""


@model
class TimeoutPolicy:
    """Timeouts of requests and connections, as durations such as `30s` or `1m30s`. A zero means the
    default, `infinity` means no limit, and more than 24 hours is an error."""

    response: Timeout | None = None
    """The longest time until the complete response has arrived. Envoy's default is 15 seconds. In
    an ExtensionService it applies where the caller sets no timeout of its own."""
    idle: Timeout | None = None
    """The longest time that a request may go on without a byte in either direction. The default is
    `envoy.timeouts.streamIdleTimeout` of the configuration. In an ExtensionService this has no
    effect."""
    idle_connection: Timeout | None = None
    """The longest time that a connection to the backend is kept open without requests. Envoy's
    default is one hour."""


@model
class RetryPolicy:
    """When and how often Envoy retries a failed request. Without this policy it retries none."""

    count: Annotated[int, Strict(), Field(ge=-1, le=2**32 - 1)] = 1
    """The number of retries after the first attempt. The default is 1; 0 also means 1, and -1
    disables retries."""
    per_try_timeout: Timeout | None = None
    """The longest time that each attempt may take, such as `5s`. Without it only the response
    timeout of the whole request applies."""
    retry_on: tuple[RetryOn, ...] = ()
    """The failures after which the request is retried, by Envoy's names. The default is `5xx`."""
    retriable_status_codes: tuple[Uint32, ...] = ()
    """Responses with one of these status codes, from 100 to 599, are also retried;
    `retriable-status-codes` need not be set as well."""


@model
class ReplacePrefix:
    """One replacement of the path prefix that the route matches."""

    prefix: NonEmpty | None = None
    """The replacement applies if the route matches exactly this prefix, including the prefixes of
    the includes. Without it the replacement applies to any prefix; only one such entry is allowed.
    """
    replacement: NonEmpty
    """The text that replaces the prefix. It must start with `/`; otherwise the route is dropped."""


@model
class PathRewritePolicy:
    """How Envoy changes the path before it forwards the request. The route must have a prefix
    condition; otherwise it is dropped."""

    replace_prefix: tuple[ReplacePrefix, ...] = ()
    """The replacements of the path prefix. The entry for exactly the route's own prefix wins over
    the entry for any prefix; two entries for the same prefix drop the route. With a prefix that
    ends with a slash, requests without that slash are rewritten, too, unless a route for them is
    written."""


@model
class HeaderValue:
    """A header and the value that it is set to."""

    name: NonEmpty
    """The name of the header, which is case-insensitive. Headers that frame a message, such as
    `Content-Length` and `Connection`, cannot be set."""
    value: NonEmpty
    """The value of the header, at most 4096 characters. In the header policies of routes and
    Services, variables such as `%REQ(X-Request-Id)%` are replaced; any other `%` is literal."""


@model
class HeadersPolicy:
    """Headers that Envoy sets or removes. A header that cannot be changed drops the route."""

    set: tuple[HeaderValue, ...] = ()
    """Headers that are set to a value, replacing any that are there. On requests, `Host` rewrites
    the host name that the backend sees. A name that occurs twice drops the route."""
    remove: tuple[str, ...] = ()
    """The names of the headers that are removed. Headers that frame a message cannot be removed."""


@model
class HeaderHashOptions:
    """The header whose value selects the endpoint."""

    header_name: NonEmpty
    """The name of the request header that is hashed; requests without it are not hashed by this
    policy."""


@model
class QueryParameterHashOptions:
    """The query parameter whose value selects the endpoint."""

    parameter_name: NonEmpty
    """The name of the query parameter that is hashed, which is case-sensitive."""


@model
class RequestHashPolicy:
    """A part of the request whose hash selects the endpoint. Exactly one source must be set; an
    entry with none or several is ignored with a warning."""

    terminal: Flag = False
    """If true and this policy gives a hash, the policies after it are not evaluated. The default is
    false: all hashes are combined."""
    header_hash_options: HeaderHashOptions | None = None
    """The value of this request header is hashed."""
    query_parameter_hash_options: QueryParameterHashOptions | None = None
    """The value of this query parameter is hashed."""
    hash_source_ip: Flag = False
    """If true, the IP address of the client is hashed."""


@model
class LoadBalancerPolicy:
    """How Envoy distributes requests over the endpoints of a Service."""

    strategy: str = ""
    """The strategy: RoundRobin (the default), Random, WeightedLeastRequest, Cookie or RequestHash.
    `Cookie` keeps a client on one endpoint by a session cookie. An unknown strategy means
    RoundRobin, with a warning; so do Cookie and RequestHash in a `tcpproxy` or an ExtensionService.
    """
    request_hash_policies: tuple[RequestHashPolicy, ...] = ()
    """The parts of the request that are hashed, in order, with the strategy RequestHash. If none of
    them is valid, RoundRobin is used and a warning says so."""


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
    """The new `Path` attribute of a cookie."""

    value: CookieText
    """The path that the cookie gets, without semicolons and control characters."""


@model
class CookieDomainRewrite:
    """The new `Domain` attribute of a cookie."""

    value: DomainName
    """The domain that the cookie gets, a DNS name in lower case."""


@model
class CookieRewritePolicy:
    """How the attributes of a cookie in a `Set-Cookie` response header are changed. At least one
    attribute must be set, and each cookie may occur once; otherwise the route is dropped."""

    name: CookieName
    """The name of the cookie whose attributes are changed, which is case-sensitive."""
    path_rewrite: CookiePathRewrite | None = None
    """The `Path` attribute is replaced by this one. It is left unchanged if this is absent."""
    domain_rewrite: CookieDomainRewrite | None = None
    """The `Domain` attribute is replaced by this one. It is left unchanged if this is absent."""
    secure: Flag | None = None
    """If true, the `Secure` attribute is added; if false, it is removed. It is left unchanged if
    this is absent."""
    same_site: SameSite | None = None
    """The `SameSite` attribute is set to this value. It is left unchanged if this is absent."""


@model
class SlowStartPolicy:
    """A new endpoint gets its share of the requests gradually instead of at once. Only the
    strategies RoundRobin and WeightedLeastRequest support this; with another one the route is
    dropped."""

    window: Duration
    """The time after which a new endpoint gets its full share, such as `30s`. It must be longer
    than 0 and at most 24 hours."""
    aggression: Annotated[str, StringConstraints(pattern=r"^([0-9]+([.][0-9]+)?|[.][0-9]+)$")] = (
        "1.0"
    )
    """The shape of the increase, a decimal number above 0 and at most 1000. The default is `1.0`, a
    linear increase; greater numbers increase the share faster at the beginning."""
    min_weight_percent: Percent = 10
    """The share that a new endpoint starts with, in percent of its full share. The default is 10.
    """
