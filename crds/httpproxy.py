"""HTTPProxy (projectcontour.io/v1): a virtual host, its routes, and the HTTPProxies it includes.

The fields are those of upstream Contour, with some additions that say so. The rules of the graph
decide what combinations mean, and report the wrong ones in the object's status.
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
    """A port of a Service in the namespace of the HTTPProxy, and its share of the traffic."""

    name: str
    """The name of the Service, in the namespace of the HTTPProxy. While it is missing, the others
    with a weight take its share of the requests; if there are none, these are answered with 503. In
    a `tcpproxy` the connections of its share are closed."""
    port: Port
    """The number of the Service's port, not of the container's. A Service without this port counts
    as missing."""
    health_port: Port | None = None
    """The port of the Service to whose endpoints health checks are sent; a number that the Service
    does not have is a port of the endpoints. The default is the port that gets the traffic."""
    protocol: Literal["h2", "h2c", "tls"] | None = None
    """The protocol of the Service: `h2` is HTTP/2 over TLS, `h2c` is HTTP/2 without TLS, `tls` is
    HTTP/1.1 over TLS. The default is the `appProtocol` of the port, then the annotation of the
    Service, then HTTP/1.1."""
    weight: Uint32 = 0
    """The share of this Service, relative to the sum of all weights in the list. If no Service has
    a weight, all shares are equal; otherwise a weight of 0 means no traffic."""
    validation: UpstreamValidation | None = None
    """The certificate authority and the names by which the Service's certificate is verified. The
    protocol must be `h2` or `tls`; otherwise, and while it cannot be verified, the route answers
    503."""
    mirror: Flag = False
    """If true, the Service gets copies of the requests, and its responses are discarded. `weight`
    is then the percentage of requests that are copied; 0 means all of them, and so does more than
    100, with a warning."""
    request_headers_policy: HeadersPolicy | None = None
    """Headers that are set or removed on requests to this Service. A policy of the route is applied
    as well, and wins for the same header."""
    response_headers_policy: HeadersPolicy | None = None
    """Headers that are set or removed on responses of this Service. A policy of the route is
    applied as well, and wins for the same header."""
    cookie_rewrite_policies: tuple[CookieRewritePolicy, ...] = ()
    """Attributes of cookies that are changed in responses of this Service."""
    slow_start_policy: SlowStartPolicy | None = None
    """A new endpoint of this Service gets its share of the requests gradually. By default it gets
    it at once."""


@model
class Route:
    """Requests that meet all conditions, and what is done with them. Exactly one of `services`,
    `requestRedirectPolicy` and `directResponsePolicy` must be set. An invalid route is dropped, or
    answers 503 if it or its virtual host has a guard, and the status names the field."""

    conditions: tuple[MatchCondition, ...] = ()
    """The conditions that a request must meet, in addition to those of the includes that lead
    here. Without any, all requests match. Of two routes with the same conditions, the last one
    is served."""
    services: tuple[Service, ...] = ()
    """The Services that get the requests, with their shares. If none of them can take traffic, the
    route answers 503."""
    enable_websockets: Flag = False
    """If true, clients may upgrade a request to a WebSocket over HTTP/1.1. The default is false:
    upgrades are rejected. It has no effect where `maxRequestBytes` limits requests."""
    permit_insecure: Flag = False
    """If true, a host with TLS also serves this route over plain HTTP instead of redirecting to
    https. It has no effect if the configuration sets `disablePermitInsecure`."""
    auth_policy: AuthorizationPolicy | None = None
    """How requests of this route are authorized. It replaces the `authPolicy` of the virtual host,
    except for entries of its `context`."""
    timeout_policy: TimeoutPolicy | None = None
    """Timeouts of requests to the services of this route, and of the connections to them."""
    retry_policy: RetryPolicy | None = None
    """When failed requests are retried. By default they are not."""
    health_check_policy: HTTPHealthCheckPolicy | None = None
    """Active health checks of the endpoints, by HTTP requests. By default all ready endpoints get
    requests."""
    outlier_detection: OutlierDetectionPolicy | None = None
    """Endpoints that answer ordinary requests with errors are ejected for a while. By default none
    are. Upstream Contour does not have this field."""
    load_balancer_policy: LoadBalancerPolicy | None = None
    """How requests are distributed over the endpoints of each Service. The default is
    RoundRobin."""
    path_rewrite_policy: PathRewritePolicy | None = None
    """How the path of the request is changed before it is forwarded. By default it is not."""
    request_headers_policy: HeadersPolicy | None = None
    """Headers that are set or removed on requests before they are forwarded."""
    response_headers_policy: HeadersPolicy | None = None
    """Headers that are set or removed on responses before the client gets them."""
    cookie_rewrite_policies: tuple[CookieRewritePolicy, ...] = ()
    """Attributes of cookies that are changed in responses before the client gets them."""
    rate_limit_policy: RateLimitPolicy | None = None
    """Limits on the rate of requests of this route. A local or global limit replaces that of the
    virtual host. An invalid policy makes the route answer 503."""
    request_redirect_policy: HTTPRequestRedirectPolicy | None = None
    """The route answers with a redirect to another URL; it then has no services."""
    direct_response_policy: HTTPDirectResponsePolicy | None = None
    """The route answers with a fixed response; it then has no services."""
    internal_redirect_policy: HTTPInternalRedirectPolicy | None = None
    """Redirects of the backend that Envoy follows itself. By default all of them are passed to the
    client."""
    jwt_verification_policy: JWTVerificationPolicy | None = None
    """The token that requests must have. By default it is that of the default provider of the
    virtual host, if there is one."""
    ip_allow_policy: tuple[IPFilterPolicy, ...] = ()
    """Only clients with one of these addresses may send requests; others are answered with 403. It
    replaces the lists of the virtual host. Together with `ipDenyPolicy`, or with an invalid range,
    the route answers 503."""
    ip_deny_policy: tuple[IPFilterPolicy, ...] = ()
    """Clients with one of these addresses are answered with 403. It replaces the lists of the
    virtual host. With an invalid range the route answers 503."""
    max_request_bytes: PositiveUint32 | None = None
    """The largest body of a request, in bytes; a larger one is answered with 413, unless it
    comes in one frame of HTTP/2 (at most 16 KiB). The default is the limit of the virtual host.
    A service gets a body once it is complete, so calls by gRPC whose clients stream wait until
    these have sent everything. Upstream Contour does not have this field."""
    error_pages: tuple[ErrorPage, ...] = ()
    """Pages that replace error responses of this route, instead of those of the virtual host.
    Upstream Contour does not have this field."""


@model
class TCPProxyInclude:
    """An HTTPProxy whose `tcpproxy` is used. It must not be a root, and must be served by the same
    controller."""

    name: str
    """The name of the included HTTPProxy."""
    namespace: str = ""
    """The namespace of the included HTTPProxy. The default is the namespace of the includer."""


@model
class TCPProxy:
    """TLS connections to the virtual host are forwarded as a byte stream. Either `services` or
    `include` must be set; otherwise connections are not accepted."""

    load_balancer_policy: LoadBalancerPolicy | None = None
    """How connections are distributed over the endpoints. The default is RoundRobin; strategies
    that need requests are ignored with a warning."""
    services: tuple[Service, ...] = ()
    """The Services that get the connections, with their shares. Connections for a Service that is
    missing are closed."""
    include: TCPProxyInclude | None = None
    """Another HTTPProxy, whose `tcpproxy` is used instead of `services`."""
    includes: TCPProxyInclude | None = None
    """A deprecated spelling of `include`, which is read if `include` is not set."""
    health_check_policy: TCPHealthCheckPolicy | None = None
    """Active health checks of the endpoints, by TCP connections. By default all ready endpoints get
    connections."""


@model
class Include:
    """Another HTTPProxy, whose routes serve the requests that meet these conditions. If it cannot
    be included, the status says why, and such requests are answered with 502. If there are no
    conditions but the prefix `/`, the include is left out instead."""

    name: NonEmpty
    """The name of the included HTTPProxy, which must not be a root."""
    namespace: str = ""
    """The namespace of the included HTTPProxy. The default is the namespace of the includer."""
    conditions: tuple[MatchCondition, ...] = ()
    """The conditions that requests must meet, in addition to those of each included route. Exact
    paths and regular expressions on the path are not allowed."""


@model
class HTTPProxySpec:
    """A virtual host, its routes, and the HTTPProxies that it includes."""

    virtualhost: VirtualHost | None = None
    """The host that this HTTPProxy serves, which makes it a root. An HTTPProxy without it takes
    effect only if a root includes it; otherwise it is orphaned."""
    routes: tuple[Route, ...] = ()
    """The routes for requests to the host. If a request matches several, the most specific one
    serves it."""
    tcpproxy: TCPProxy | None = None
    """TLS connections to the host are forwarded as a byte stream, and `routes` serve plain HTTP
    alone. It requires `virtualhost.tls`."""
    includes: tuple[Include, ...] = ()
    """Other HTTPProxies that serve a part of the requests. Includes may be nested up to 100 deep,
    and a root may have up to 20,000 routes and 8 MiB of text, with what it includes."""
    ingress_class_name: str | None = None
    """The class of the controller that serves this object. An annotation such as
    `kubernetes.io/ingress.class` wins over it. The default is `ingress.classNames` of the
    configuration, or else `contour` and no class."""


@model
class HTTPProxy:
    """A virtual host with its routes, or routes that other HTTPProxies include."""

    metadata: ObjectMeta
    spec: HTTPProxySpec
