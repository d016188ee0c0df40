"""XBackendTrafficPolicy: how many retries a backend gets, and whether it keeps sessions.

GEP-3388 and GEP-1619, experimental. The checks are those of the CRD (v1.7.0), with its messages;
`sessionPersistence` is also read as v1.6 writes it.
"""

from typing import Annotated

from pydantic import Field, Strict

from crds.fields import GatewayDuration, Percent
from crds.gateway.durations import milliseconds
from crds.gateway.experimental import SessionPersistence
from crds.gateway.references import LocalObjectReference
from crds.meta import ObjectMeta, model
from crds.rules import rule

_SECOND, _HOUR = 1000, 3_600_000


@model
class RetryShare:
    """The share of the requests of an interval that may be retries."""

    percent: Percent = 20
    """The retries, in percent of the requests."""
    interval: GatewayDuration = "10s"
    """For how long a request counts, from one second to one hour."""
    _interval = rule(
        "interval cannot be greater than one hour or less than one second",
        lambda it: _SECOND <= milliseconds(it.interval) <= _HOUR,
    )


@model
class RetryRate:
    """The retries that are possible however few requests there are."""

    count: Annotated[int, Strict(), Field(ge=1, le=1_000_000)] | None = None
    """The retries of one interval; `10` if absent."""
    interval: GatewayDuration | None = None
    """The time for `count`, an hour at most; `1s` if absent."""
    _interval = rule(
        "interval cannot be greater than one hour",
        lambda it: it.interval is None or 0 < milliseconds(it.interval) <= _HOUR,
    )


@model
class RetryConstraint:
    """When there are no further retries."""

    budget: RetryShare = RetryShare()
    min_retry_rate: RetryRate = RetryRate(count=10, interval="1s")


@model
class XBackendTrafficPolicySpec:
    """The backends, and how their requests are retried and their sessions kept."""

    target_refs: tuple[LocalObjectReference, ...] = Field(min_length=1, max_length=16)
    retry_constraint: RetryConstraint | None = None
    session_persistence: SessionPersistence | None = None


@model
class XBackendTrafficPolicy:
    """Bounds the retries of backends in its namespace, and keeps their sessions."""

    metadata: ObjectMeta
    spec: XBackendTrafficPolicySpec
