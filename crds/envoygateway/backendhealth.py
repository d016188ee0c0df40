"""The health checks of a BackendTrafficPolicy, active and passive (Envoy Gateway 1.9)."""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, GatewayDuration, NonEmpty, Percent, Port, Positive32, Uint32
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_LEFT = Unserved()


@model
class HTTPCheck:
    """The request that an endpoint has to answer."""

    hostname: str | None = None
    """The host that the request asks for. The default is `contour-envoy-healthcheck`."""
    path: NonEmpty
    """The path that the request asks for, such as `/healthz`."""
    method: Annotated[str | None, Unserved(values=("POST", "PUT", "HEAD", "OPTIONS"))] = None
    """The method of the request: `GET`. `POST`, `PUT`, `HEAD` and `OPTIONS` are not served."""
    request_body: Annotated[Opaque | None, _LEFT] = None
    """What the body of the request is to be."""
    expected_statuses: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    """The status codes of healthy answers. The default is `200`."""
    retriable_statuses: Annotated[tuple[int, ...], _LEFT] = ()
    """The status codes after which a check is tried again."""
    expected_response: Annotated[Opaque | None, _LEFT] = None
    """What must be in the body of healthy answers."""


@model
class TCPCheck:
    """What is exchanged on a connection that checks an endpoint; nothing: it must open."""

    send: Annotated[Opaque | None, _LEFT] = None
    """What is sent on the connection."""
    receive: Annotated[Opaque | None, _LEFT] = None
    """What must be received on the connection."""


@model
class CheckOverrides:
    """Where checks go in place of the endpoint."""

    port: Port | None = None
    """The port that checks go to. The default is the endpoint's own port."""


@model
class ActiveCheck:
    """Checks that Envoy makes by itself: an endpoint that fails them gets no requests."""

    type: Annotated[Literal["HTTP", "TCP", "GRPC"], Unserved(values=("GRPC",))]
    """How endpoints are checked. `GRPC` is not served: nothing is checked then."""
    timeout: GatewayDuration = "1s"
    """The time that a check may take, at most a minute. The default is `1s`."""
    interval: GatewayDuration = "3s"
    """The time between two checks. The default is `3s`."""
    initial_jitter: Annotated[GatewayDuration | None, _LEFT] = None
    """The time by which the first check may be late, by chance."""
    unhealthy_threshold: Positive32 = 3
    """The number of failed checks after which an endpoint is sick. The default is `3`."""
    healthy_threshold: Positive32 = 1
    """The number of passed checks after which it is healthy again. The default is `1`."""
    overrides: CheckOverrides | None = None
    """Where checks go in place of the endpoint."""
    http: HTTPCheck | None = None
    """The request that an endpoint has to answer, for the type `HTTP`."""
    tcp: TCPCheck | None = None
    """What is exchanged on a connection, for the type `TCP`."""
    grpc: Annotated[Opaque | None, _LEFT] = None
    """The gRPC service that is asked, for the type `GRPC`."""
    health_check_log: Annotated[Opaque | None, _LEFT] = None
    """Where results of checks are logged."""
    _http = rule(
        "http must be set with type HTTP, and with no other",
        lambda it: (it.type == "HTTP") == (it.http is not None),
        "self.type == 'HTTP' ? has(self.http) : !has(self.http)",
    )


@model
class PassiveCheck:
    """Answers that count against an endpoint: it is left out for a while after too many errors."""

    split_external_local_origin_errors: Annotated[Flag, _LEFT] = False
    """Whether failed connections and error answers are counted apart. The default is `false`."""
    interval: GatewayDuration = "3s"
    """The time between two looks at the counts. The default is `3s`."""
    consecutive_local_origin_failures: Annotated[Uint32, _LEFT] = 5
    """The number of failed connections after which an endpoint is left out. The default is
    `5`."""
    consecutive_gateway_errors: Uint32 | None = None
    """The number of answers 502, 503 and 504 in a row after which an endpoint is left out."""
    consecutive_5xx_errors: Uint32 = Field(default=5, validation_alias="consecutive5XxErrors")
    """The number of answers 5xx in a row after which an endpoint is left out. The default is
    `5`."""
    base_ejection_time: GatewayDuration = "30s"
    """How long an endpoint is left out; longer each further time. The default is `30s`."""
    max_ejection_percent: Percent = 10
    """The share of the endpoints that may be left out. The default is `10`."""
    failure_percentage_threshold: Annotated[int | None, _LEFT] = None
    """The share of errors in the answers of an endpoint after which it is left out."""
    always_eject_one_endpoint: Annotated[Flag, _LEFT] = False
    """Whether one endpoint may be left out whatever the share is. The default is `false`."""


@model
class BackendHealthCheck:
    """Which endpoints get requests: those that pass active and passive checks."""

    active: ActiveCheck | None = None
    """Checks that Envoy makes by itself: an endpoint that fails them gets no requests."""
    passive: PassiveCheck | None = None
    """Answers that count against an endpoint, for some time."""
    panic_threshold: Annotated[int | None, _LEFT] = None
    """The share of healthy endpoints below which all of them get requests."""
