"""Active health checks that an HTTPProxy asks for."""

from typing import Annotated

from pydantic import Field, Strict

from crds.fields import Int64, Uint32
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
