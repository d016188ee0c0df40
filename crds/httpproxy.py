"""HTTPProxy (projectcontour.io/v1): a virtual host, its routes, and what it includes of others.

Field for field what users of Contour write. What combinations mean, and which are wrong, is told by
the rules of the graph on the object's status.
"""

from typing import Literal

from crds.answers import (
    HTTPDirectResponsePolicy,
    HTTPInternalRedirectPolicy,
    HTTPRequestRedirectPolicy,
)
from crds.authorization import AuthorizationPolicy
from crds.conditions import MatchCondition
from crds.errorpages import ErrorPage
from crds.fields import Flag, NonEmpty, Port, PositiveUint32, Uint32
from crds.health import HTTPHealthCheckPolicy, OutlierDetectionPolicy, TCPHealthCheckPolicy
from crds.jwt import JWTVerificationPolicy
from crds.meta import ObjectMeta, model
from crds.policies import (
    CookieRewritePolicy,
    HeadersPolicy,
    LoadBalancerPolicy,
    PathRewritePolicy,
    RetryPolicy,
    SlowStartPolicy,
    TimeoutPolicy,
)
from crds.ratelimits import RateLimitPolicy
from crds.upstreamvalidation import UpstreamValidation
from crds.virtualhost import IPFilterPolicy, VirtualHost


@model
class Service:
    """A port of a Service in the namespace of the HTTPProxy, and its share of the requests."""

    name: str
    """The Service."""
    port: Port
    """Its port."""
    health_port: Port | None = None
    """The port that health checks go to; the same one if absent."""
    protocol: Literal["h2", "h2c", "tls"] | None = None
    """What the Service speaks: HTTP/2 over TLS, HTTP/2, TLS; HTTP/1.1 if absent."""
    weight: Uint32 = 0
    """Its share, relative to the sum; if none has a weight, all get the same."""
    validation: UpstreamValidation | None = None
    """How its certificate is checked."""
    mirror: Flag = False
    """It gets copies of the requests, and its answers are thrown away; `weight` is the percentage
    of requests that are copied, all if 0."""
    request_headers_policy: HeadersPolicy | None = None
    """Headers of requests to it."""
    response_headers_policy: HeadersPolicy | None = None
    """Headers of its answers."""
    cookie_rewrite_policies: tuple[CookieRewritePolicy, ...] = ()
    """Cookies of its answers."""
    slow_start_policy: SlowStartPolicy | None = None
    """New endpoints get their share little by little."""


@model
class Route:
    """Requests that meet every condition, and what is done with them."""

    conditions: tuple[MatchCondition, ...] = ()
    """Conditions beside those of the includes that led here; every request if there are none."""
    services: tuple[Service, ...] = ()
    """Where requests go."""
    enable_websockets: Flag = False
    """Let clients switch to WebSocket."""
    permit_insecure: Flag = False
    """Answer plain HTTP too on a TLS host, instead of redirecting to https."""
    auth_policy: AuthorizationPolicy | None = None
    """How requests are authorized, if other than the virtual host says."""
    timeout_policy: TimeoutPolicy | None = None
    """Limits of time."""
    retry_policy: RetryPolicy | None = None
    """When a request is tried again."""
    health_check_policy: HTTPHealthCheckPolicy | None = None
    """Requests that find out which endpoints work."""
    outlier_detection: OutlierDetectionPolicy | None = None
    """Answers that take an endpoint out for a while. Beside Contour's fields."""
    load_balancer_policy: LoadBalancerPolicy | None = None
    """How requests are spread over endpoints."""
    path_rewrite_policy: PathRewritePolicy | None = None
    """How the path is changed."""
    request_headers_policy: HeadersPolicy | None = None
    """Headers of requests."""
    response_headers_policy: HeadersPolicy | None = None
    """Headers of answers."""
    cookie_rewrite_policies: tuple[CookieRewritePolicy, ...] = ()
    """Cookies of answers."""
    rate_limit_policy: RateLimitPolicy | None = None
    """Limit the number of requests."""
    request_redirect_policy: HTTPRequestRedirectPolicy | None = None
    """Send clients elsewhere; then there are no services."""
    direct_response_policy: HTTPDirectResponsePolicy | None = None
    """Answer at once; then there are no services."""
    internal_redirect_policy: HTTPInternalRedirectPolicy | None = None
    """Redirects of the services that Envoy follows itself."""
    jwt_verification_policy: JWTVerificationPolicy | None = None
    """Tokens that requests have to show."""
    ip_allow_policy: tuple[IPFilterPolicy, ...] = ()
    """Only these addresses may send requests; replaces the virtual host's lists."""
    ip_deny_policy: tuple[IPFilterPolicy, ...] = ()
    """These addresses may not send requests; replaces the virtual host's lists."""
    max_request_bytes: PositiveUint32 | None = None
    """How large the body of a request may be, if other than the virtual host says. Beside
    Contour's fields."""
    error_pages: tuple[ErrorPage, ...] = ()
    """What clients see in place of error answers; replaces the virtual host's. Beside Contour's
    fields."""


@model
class TCPProxyInclude:
    """An HTTPProxy whose `tcpproxy` is used."""

    name: str
    """Its name."""
    namespace: str = ""
    """Its namespace; the includer's own if empty."""


@model
class TCPProxy:
    """Bytes of a connection are handed on as they are."""

    load_balancer_policy: LoadBalancerPolicy | None = None
    """How connections are spread over endpoints."""
    services: tuple[Service, ...] = ()
    """Where connections go."""
    include: TCPProxyInclude | None = None
    """Use another HTTPProxy's; then there are no services."""
    includes: TCPProxyInclude | None = None
    """The old name of `include`."""
    health_check_policy: TCPHealthCheckPolicy | None = None
    """Connections that find out which endpoints work."""


@model
class Include:
    """Delegates the requests that meet every condition to another HTTPProxy."""

    name: NonEmpty
    """Its name."""
    namespace: str = ""
    """Its namespace; the includer's own if empty."""
    conditions: tuple[MatchCondition, ...] = ()
    """Conditions that its routes are narrowed by; no exact paths and no expressions."""


@model
class HTTPProxySpec:
    """A virtual host, its routes, and what it includes of others."""

    virtualhost: VirtualHost | None = None
    """The host; absent in an HTTPProxy that others include."""
    routes: tuple[Route, ...] = ()
    """What is done with requests."""
    tcpproxy: TCPProxy | None = None
    """What is done with the bytes of TLS connections, instead of routes."""
    includes: tuple[Include, ...] = ()
    """Other HTTPProxies that take a part of the requests."""
    ingress_class_name: str | None = None
    """Which controller this is for; an annotation wins over it."""


@model
class HTTPProxy:
    """A virtual host and its routes, or a part of them that others include."""

    metadata: ObjectMeta
    spec: HTTPProxySpec
