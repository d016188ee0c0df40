"""BackendTrafficPolicy: how requests of a Gateway or route reach their backends.

The fields and limits are those of Envoy Gateway 1.9. What is not served and limits something closes
the routes of the policy; the rest that is not served has no effect, and the status says so.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.backendconnections import (
    BackendConnections,
    BackendDNS,
    BackendHTTP2,
    BackendProxyProtocol,
)
from crds.envoygateway.backendhealth import BackendHealthCheck
from crds.envoygateway.backendlimits import CircuitBreaker, RequestBuffer
from crds.envoygateway.compressors import Compressor
from crds.envoygateway.faultinjection import FaultInjection
from crds.envoygateway.keepalives import TCPKeepalive
from crds.envoygateway.opaque import Opaque
from crds.envoygateway.policyratelimits import PolicyRateLimit
from crds.envoygateway.policytargets import PolicyTargets
from crds.envoygateway.responseoverride import ResponseOverride
from crds.fields import Flag, GatewayDuration, Natural32, NonEmpty
from crds.gateway.known import Known
from crds.meta import ObjectMeta, model
from crds.rules import rule
from crds.unserved import Unserved

_CLOSED = Unserved(guards=True)
_LEFT = Unserved()


@model
class TCPTimeout:
    """Limits of time on connections to backends."""

    connect_timeout: GatewayDuration | None = None
    """The time within which a connection to a backend must open."""


@model
class HTTPTimeout:
    """Limits of time on requests, and on connections that carry them."""

    connection_idle_timeout: GatewayDuration | None = None
    """How long a connection to a backend may carry no request; `0s` is without limit."""
    max_connection_duration: GatewayDuration | None = None
    """How long a connection to a backend may live at all; `0s` is without limit. Its requests are
    finished first."""
    request_timeout: GatewayDuration | None = None
    """The time within which the whole answer must be there; `0s` is without limit. What an
    HTTPRoute says in `timeouts.request` comes first."""
    max_stream_duration: GatewayDuration | None = None
    """How long a request and its answer may take, streams too; `0s` is without limit."""
    stream_idle_timeout: GatewayDuration | None = None
    """How long nothing may move in a request or its answer; `0s` is without limit."""


@model
class PolicyTimeout:
    """Limits of time, for connections and for requests."""

    tcp: TCPTimeout | None = None
    """Limits of time on connections to backends."""
    http: HTTPTimeout | None = None
    """Limits of time on requests, and on connections that carry them."""


@model
class RetryOn:
    """After which failures a request is tried again."""

    triggers: tuple[NonEmpty, ...] = ()
    """Kinds of failures, in Envoy's words, such as `connect-failure`, `5xx` or `reset`. The
    default: no connection, a refused stream, and the gRPC statuses UNAVAILABLE and CANCELLED."""
    http_status_codes: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    """Status codes of answers after which the request is tried again, too. The default is 503 if
    `triggers` is not set, and none otherwise."""


@model
class BackOff:
    """How long is waited before a request is tried again."""

    base_interval: GatewayDuration | None = None
    """The time before the first retry, doubled for each further one, with some chance."""
    max_interval: GatewayDuration | None = None
    """The longest time before a retry. The default is ten times `baseInterval`."""


@model
class PerRetry:
    """What holds for each try of a request."""

    timeout: GatewayDuration | None = None
    """The time that each try may take, the first one too. What an HTTPRoute says in
    `timeouts.backendRequest` comes first."""
    back_off: BackOff | None = None
    """How long is waited before a request is tried again."""


@model
class PolicyRetry:
    """Whether requests that fail are tried again. What an HTTPRoute says in `retry` comes first."""

    num_retries: Natural32 = 2
    """How often a request is tried again. The default is `2`."""
    num_attempts_per_priority: Natural32 | None = None
    """How many tries go to backends of one priority before those of another one get any; `0` and by
    default, all go to the highest priority that is healthy."""
    retry_on: RetryOn | None = None
    """After which failures a request is tried again. The default: no connection, a refused
    stream, the gRPC statuses UNAVAILABLE and CANCELLED, and the status 503."""
    per_retry: PerRetry | None = None
    """What holds for each try of a request."""


@model
class HashedHeader:
    """A header that is hashed."""

    name: NonEmpty
    """The name of the header, compared without case."""


@model
class HashedParameter:
    """A query parameter that is hashed."""

    name: NonEmpty
    """The name of the query parameter."""


@model
class HashedCookie:
    """A cookie that is hashed."""

    name: NonEmpty
    """The name of the cookie."""
    ttl: GatewayDuration | None = None
    """How long a cookie lives that Envoy sets where requests have none. It sets none without."""
    attributes: dict[str, str] | None = None
    """Further attributes of the cookie that Envoy sets, such as `SameSite: Strict`; one without a
    value is a word alone, such as `Secure`."""


@model
class ConsistentHash:
    """What of a request decides which endpoint gets it."""

    type: Literal["SourceIP", "Header", "Headers", "Cookie", "QueryParams"]
    """What is hashed: `SourceIP`, `Header`, `Headers`, `Cookie` or `QueryParams`."""
    header: HashedHeader | None = None
    """The header that is hashed. It must be set with the type `Header`."""
    headers: tuple[HashedHeader, ...] = ()
    """The headers that are hashed together, for the type `Headers`."""
    cookie: HashedCookie | None = None
    """The cookie that is hashed. It must be set with the type `Cookie`."""
    query_params: tuple[HashedParameter, ...] = ()
    """The query parameters that are hashed together, for the type `QueryParams`."""
    table_size: Annotated[int, Field(ge=2, le=5_000_011)] = 65537
    """The size of the table that spreads the hashes, a prime. The default is `65537`."""


@model
class SlowStart:
    """How a new endpoint gets its share of the requests."""

    window: GatewayDuration
    """The time after which a new endpoint gets its whole share; little by little until then."""


@model
class LoadBalancer:
    """How requests are spread over the endpoints of a backend."""

    type: Annotated[
        Literal[
            "ConsistentHash",
            "LeastRequest",
            "Random",
            "RoundRobin",
            "BackendUtilization",
            "DynamicModule",
        ],
        Unserved(values=("BackendUtilization", "DynamicModule")),
    ]
    """How an endpoint is chosen. `BackendUtilization` and `DynamicModule` are not served: requests
    go to endpoints in turn then."""
    consistent_hash: ConsistentHash | None = None
    """What of a request decides which endpoint gets it, for the type `ConsistentHash`."""
    backend_utilization: Annotated[Opaque | None, _LEFT] = None
    """How the load that endpoints report decides which one gets a request."""
    slow_start: SlowStart | None = None
    """How a new endpoint gets its share, for the types `RoundRobin` and `LeastRequest`."""
    endpoint_override: Annotated[Opaque | None, _LEFT] = None
    """Which header of a request names the endpoint that gets it."""
    zone_aware: Annotated[Opaque | None, _LEFT] = None
    """How endpoints in the zone of the Envoy are preferred."""
    dynamic_module: Annotated[Opaque | None, _LEFT] = None
    """The module that chooses an endpoint, for the type `DynamicModule`."""
    _hash = rule(
        "consistentHash must be set with type ConsistentHash, and with no other",
        lambda it: (it.type == "ConsistentHash") == (it.consistent_hash is not None),
        "self.type == 'ConsistentHash' ? has(self.consistentHash) : !has(self.consistentHash)",
    )


@model
class HTTPUpgrade:
    """A protocol to which requests may switch."""

    type: NonEmpty
    """The protocol, compared without case. `websocket` is served, no other."""
    connect: Annotated[Opaque | None, _LEFT] = None
    """What becomes of requests with the method CONNECT."""


@model
class BackendTrafficPolicySpec(PolicyTargets):
    """The targets, and how their requests reach backends."""

    merge_type: Annotated[str | None, Known("StrategicMerge", "JSONMerge")] = None
    """How the policy of a route or a rule is merged with that of its listener or Gateway:
    `StrategicMerge` or `JSONMerge`. It replaces that policy if absent."""
    timeout: PolicyTimeout | None = None
    """Limits of time, for connections and for requests."""
    retry: PolicyRetry | None = None
    """Whether requests that fail are tried again. What an HTTPRoute says comes first."""
    load_balancer: LoadBalancer | None = None
    """How requests are spread over the endpoints of a backend."""
    circuit_breaker: CircuitBreaker | None = None
    """What may be open towards a backend at once, for each Envoy."""
    health_check: BackendHealthCheck | None = None
    """Which endpoints get requests: those that pass active and passive checks."""
    rate_limit: PolicyRateLimit | None = None
    """How many requests may pass; further ones are answered 429."""
    request_buffer: RequestBuffer | None = None
    """Whole bodies of requests are read before a backend gets any of it. So the routes take no
    WebSockets, and calls by gRPC whose clients stream wait until these have sent everything."""
    response_override: tuple[ResponseOverride, ...] = ()
    """What clients get in place of some answers."""
    http_upgrade: tuple[HTTPUpgrade, ...] = Field(default=(), validation_alias="httpUpgrade")
    """The protocols to which requests may switch."""
    tcp_keepalive: TCPKeepalive | None = None
    """Whether connections to backends are probed while nothing moves."""
    proxy_protocol: BackendProxyProtocol | None = None
    """Whether backends learn the client's address by the PROXY protocol."""
    fault_injection: FaultInjection | None = None
    """Delays and errors that some requests get on purpose."""
    use_client_protocol: Flag | None = None
    """Whether backends are spoken to in the version of HTTP that the client speaks, whatever their
    Service says."""
    compression: tuple[Compressor, ...] = ()
    """How answers are compressed. Use `compressor` instead, which replaces it."""
    compressor: tuple[Compressor, ...] = ()
    """How answers are compressed, in place of what the ContourConfiguration says: by the algorithm
    that a client can read and likes best, of equals by the first one."""
    connection: BackendConnections | None = None
    """How much of a connection to a backend is buffered, and opened ahead."""
    dns: BackendDNS | None = None
    """How the names of backends are resolved."""
    http2: BackendHTTP2 | None = Field(default=None, validation_alias="http2")
    """How HTTP/2 is spoken to backends."""
    telemetry: Annotated[Opaque | None, _LEFT] = None
    """What is traced and counted of the requests."""
    routing_type: Annotated[str | None, _LEFT] = None
    """Whether requests go to the endpoints of a Service, or to its address."""
    bandwidth_limit: Annotated[Opaque | None, _CLOSED] = None
    """How many bytes may pass in a time."""
    admission_control: Annotated[Opaque | None, _LEFT] = None
    """Which share of the requests is refused while backends fail."""


@model
class BackendTrafficPolicy:
    """How requests of a Gateway or route reach their backends. The policy of a rule of a route
    replaces that of the route, which replaces that of the listener, which replaces that of the
    Gateway. Of two policies for the same target, the older one applies."""

    metadata: ObjectMeta
    spec: BackendTrafficPolicySpec
    """The targets, and how their requests reach backends."""
