"""Active health checks that an HTTPProxy asks for."""

from typing import Annotated

from pydantic import Field, Strict

from crds.fields import Duration, Int64, Percent, Uint32
from crds.meta import model


@model
class HTTPStatusRange:
    """Status codes from `start` up to, but not including, `end`."""

    start: Annotated[int, Strict(), Field(ge=100, le=599)]
    """The first one."""
    end: Annotated[int, Strict(), Field(ge=101, le=600)]
    """The one after the last."""


@model
class HTTPHealthCheckPolicy:
    """Requests that find out whether an endpoint works."""

    path: str
    """What is asked for."""
    host: str = ""
    """The Host header; `contour-envoy-healthcheck` if empty."""
    interval_seconds: Int64 = 0
    """Time between two checks; 0 means 10."""
    timeout_seconds: Int64 = 0
    """How long an answer may take; 0 means 2."""
    unhealthy_threshold_count: Uint32 = 0
    """Failures in a row that take an endpoint out; 0 means 3."""
    healthy_threshold_count: Uint32 = 0
    """Successes in a row that bring it back; 0 means 2."""
    expected_statuses: tuple[HTTPStatusRange, ...] = ()
    """Answers that count as success; 200 if empty."""


@model
class TCPHealthCheckPolicy:
    """Connections that find out whether an endpoint works."""

    interval_seconds: Int64 = 0
    """Time between two checks; 0 means 10."""
    timeout_seconds: Int64 = 0
    """How long a connection may take; 0 means 2."""
    unhealthy_threshold_count: Uint32 = 0
    """Failures in a row that take an endpoint out; 0 means 3."""
    healthy_threshold_count: Uint32 = 0
    """Successes in a row that bring it back; 0 means 2."""


@model
class OutlierDetectionPolicy:
    """Answers that take an endpoint out for a while. Beside Contour's fields."""

    consecutive_server_errors: Uint32 | None = None
    """Answers of 500 and above in a row; Envoy's 5 if absent, 0 for no limit."""
    consecutive_gateway_errors: Uint32 | None = None
    """Answers 502, 503 and 504 in a row; no limit if absent."""
    interval: Duration | None = None
    """Time between two looks at the endpoints; Envoy's 10 seconds if absent."""
    base_ejection_time: Duration | None = None
    """How long an endpoint is out, times how often it was; Envoy's 30 seconds if absent."""
    max_ejection_time: Duration | None = None
    """How long it is out at most; Envoy's 5 minutes if absent."""
    max_ejection_percent: Percent | None = None
    """How many of the endpoints may be out; Envoy's 10 percent if absent."""
