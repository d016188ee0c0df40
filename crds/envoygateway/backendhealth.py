"""The health checks of a BackendTrafficPolicy, active and passive (Envoy Gateway 1.9)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, GatewayDuration, NonEmpty, Percent, Port, Positive32, Uint32
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule
from crds.secret import Encoded
from crds.unserved import Unserved

_LEFT = Unserved()
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH")
"""The methods that a check may have: those that Envoy sends."""


def _upper(given: object) -> object:
    return given.upper() if isinstance(given, str) else given


@model
class Payload:
    """Bytes that a check sends, or that it looks for in what an endpoint answers."""

    type: Annotated[str, Known("Text", "Binary")]
    """How the bytes are written: `Text`, as they are, or `Binary`, which is base64."""
    text: str | None = None
    """The bytes as text. It must be set with the type `Text`, and with no other."""
    binary: Encoded | None = None
    """The bytes in base64. It must be set with the type `Binary`, and with no other."""
    _one = rule(
        "text must be set with type Text, binary with type Binary",
        lambda it: (
            (it.type == "Text") == (it.text is not None)
            and (it.type == "Binary") == (it.binary is not None)
        ),
    )


@model
class GRPCCheck:
    """The gRPC service that is asked (`grpc.health.v1.Health`)."""

    service: str | None = None
    """The name of the service that is asked for; the server as a whole without."""


@model
class HTTPCheck:
    """The request that an endpoint has to answer."""

    hostname: str | None = None
    """The host that the request asks for. The default is `contour-envoy-healthcheck`."""
    path: NonEmpty
    """The path that the request asks for, such as `/healthz`."""
    method: Annotated[str | None, Known(*METHODS), BeforeValidator(_upper)] = None
    """The method of the request, in any case: `GET`, which is the default, `HEAD`, `POST`, `PUT`,
    `DELETE`, `OPTIONS`, `TRACE` or `PATCH`."""
    request_body: Payload | None = None
    """The body of the request, with the methods `POST` and `PUT`."""
    expected_statuses: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    """The status codes of healthy answers. The default is `200`."""
    retriable_statuses: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    """The status codes that count as one failed check. Any other unexpected answer makes an
    endpoint sick at once."""
    expected_response: Payload | None = None
    """What must be in the body of healthy answers, within its first 1024 bytes."""


@model
class TCPCheck:
    """What is exchanged on a connection that checks an endpoint; nothing: it must open."""

    send: Payload | None = None
    """What is sent on the connection to an endpoint once it is open; nothing if absent."""
    receive: Payload | None = None
    """What must be received on the connection for an endpoint to pass the check."""


@model
class CheckOverrides:
    """Where checks go in place of the port at which the endpoint gets its requests."""

    port: Port | None = None
    """The port that checks go to. The default is the endpoint's own port."""


@model
class ActiveCheck:
    """Checks that Envoy makes by itself: an endpoint that fails them gets no requests."""

    type: Literal["HTTP", "TCP", "GRPC"]
    """How endpoints are checked. `GRPC` is for backends of GRPCRoutes and others that speak HTTP/2
    (`appProtocol` of the Service); no other is checked then."""
    timeout: GatewayDuration = "1s"
    """The time that a check may take, at most a minute. The default is `1s`."""
    interval: GatewayDuration = "3s"
    """The time between two checks. The default is `3s`."""
    initial_jitter: GatewayDuration | None = None
    """The time by which the first check may be late, by chance, at most a minute: until then no
    request is served."""
    unhealthy_threshold: Positive32 = 3
    """The number of failed checks after which an endpoint is sick. The default is `3`."""
    healthy_threshold: Positive32 = 1
    """The number of passed checks after which it is healthy again. The default is `1`."""
    overrides: CheckOverrides | None = None
    """Where checks go in place of the port at which the endpoint gets its requests."""
    http: HTTPCheck | None = None
    """The request that an endpoint has to answer, for the type `HTTP`."""
    tcp: TCPCheck | None = None
    """What is exchanged on a connection, for the type `TCP`."""
    grpc: GRPCCheck | None = None
    """The gRPC service that is asked, for the type `GRPC`."""
    health_check_log: Annotated[Opaque | None, _LEFT] = None
    """Where Envoy logs the results of its checks, and which of the results."""
    _http = rule(
        "http must be set with type HTTP, and with no other",
        lambda it: (it.type == "HTTP") == (it.http is not None),
        "self.type == 'HTTP' ? has(self.http) : !has(self.http)",
    )


@model
class PassiveCheck:
    """Answers that count against an endpoint: it is left out for a while after too many errors."""

    split_external_local_origin_errors: Flag = False
    """Whether failed connections and error answers are counted apart. The default is `false`."""
    interval: GatewayDuration = "3s"
    """The time between two looks at the counts. The default is `3s`."""
    consecutive_local_origin_failures: Uint32 = 5
    """The number of failed connections in a row after which an endpoint is left out, with
    `splitExternalLocalOriginErrors`. The default is `5`."""
    consecutive_gateway_errors: Uint32 | None = None
    """The number of answers 502, 503 and 504 in a row after which an endpoint is left out."""
    consecutive_5xx_errors: Uint32 = Field(default=5, validation_alias="consecutive5XxErrors")
    """The number of answers 5xx in a row after which an endpoint is left out. The default is
    `5`."""
    base_ejection_time: GatewayDuration = "30s"
    """How long an endpoint is left out; longer each further time. The default is `30s`."""
    max_ejection_percent: Percent = 10
    """The share of the endpoints that may be left out. The default is `10`."""
    failure_percentage_threshold: Percent | None = None
    """The share of errors in the answers of an endpoint, in percent, after which it is left out.
    It counts where at least five endpoints had fifty requests in an interval."""
    always_eject_one_endpoint: Flag = False
    """Whether one endpoint may be left out whatever the share is. The default is `false`."""


@model
class BackendHealthCheck:
    """Which endpoints get requests: those that pass active and passive checks."""

    active: ActiveCheck | None = None
    """Checks that Envoy makes by itself: an endpoint that fails them gets no requests."""
    passive: PassiveCheck | None = None
    """Answers that count against an endpoint, for some time."""
    panic_threshold: Percent | None = None
    """The share of healthy endpoints, in percent, below which all of them get requests, sick ones
    too. The default is `0`: a request fails rather than going to a sick endpoint."""
