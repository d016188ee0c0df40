"""Health checks that an HTTPProxy configures: active checks and outlier detection."""

from typing import Annotated

from pydantic import Field, Strict

from crds.fields import Duration, Int64, Percent, Uint32
from crds.meta import model


@model
class HTTPStatusRange:
    """A range of HTTP status codes, from `start` up to but not including `end`."""

    start: Annotated[int, Strict(), Field(ge=100, le=599)]
    """The first status code of the range, from 100 to 599."""
    end: Annotated[int, Strict(), Field(ge=101, le=600)]
    """The status code after the last one of the range. It must be greater than `start`; otherwise
    the route is dropped."""


@model
class HTTPHealthCheckPolicy:
    """Envoy checks every endpoint with HTTP requests and uses only the healthy ones. If no endpoint
    is healthy, requests are answered with 503."""

    path: str
    """The path that Envoy requests. It must start with `/`; otherwise the route is dropped."""
    host: str = ""
    """The `Host` header of the check. The default is `contour-envoy-healthcheck`."""
    interval_seconds: Int64 = 0
    """The number of seconds between two checks, at most 86400. The default is 10, and 0 means the
    default."""
    timeout_seconds: Int64 = 0
    """The number of seconds that a response may take; more than 60 count as 60. The default is 2,
    and 0 means the default."""
    unhealthy_threshold_count: Uint32 = 0
    """An endpoint is unhealthy after this many failed checks in a row. The default is 3, and 0
    means the default."""
    healthy_threshold_count: Uint32 = 0
    """An unhealthy endpoint is healthy again after this many successful checks in a row. The
    default is 2, and 0 means the default."""
    expected_statuses: tuple[HTTPStatusRange, ...] = ()
    """The status codes that count as a success. The default is 200 alone."""


@model
class TCPHealthCheckPolicy:
    """Envoy checks every endpoint by opening a TCP connection and uses only the healthy ones."""

    interval_seconds: Int64 = 0
    """The number of seconds between two checks, at most 86400. The default is 10, and 0 means the
    default."""
    timeout_seconds: Int64 = 0
    """The number of seconds that the connection may take; more than 60 count as 60. The default is
    2, and 0 means the default."""
    unhealthy_threshold_count: Uint32 = 0
    """An endpoint is unhealthy after this many failed checks in a row. The default is 3, and 0
    means the default."""
    healthy_threshold_count: Uint32 = 0
    """An unhealthy endpoint is healthy again after this many successful checks in a row. The
    default is 2, and 0 means the default."""


@model
class OutlierDetectionPolicy:
    """Envoy ejects endpoints for a while that answer ordinary requests with errors. Upstream
    Contour does not have this type."""

    consecutive_server_errors: Uint32 | None = None
    """An endpoint is ejected after this many responses in a row with a status code of 500 or above.
    Envoy's default is 5, and 0 means that these errors eject nothing."""
    consecutive_gateway_errors: Uint32 | None = None
    """An endpoint is ejected after this many responses in a row with the status code 502, 503 or
    504. By default these errors are not counted separately."""
    interval: Duration | None = None
    """The time between two evaluations, in which ejected endpoints may return, such as `10s`.
    Envoy's default is 10 seconds; `infinity` drops the route."""
    base_ejection_time: Duration | None = None
    """An endpoint is ejected for this time multiplied by the number of its ejections. Envoy's
    default is 30 seconds; `infinity` drops the route."""
    max_ejection_time: Duration | None = None
    """The longest time for which an endpoint is ejected, never less than `baseEjectionTime`.
    Envoy's default is 5 minutes; `infinity` drops the route."""
    max_ejection_percent: Percent | None = None
    """The largest share of the endpoints that may be ejected at the same time, in percent. Envoy's
    default is 10."""
