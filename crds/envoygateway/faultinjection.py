"""Delays and errors on purpose, as a BackendTrafficPolicy says (Envoy Gateway 1.9)."""

from typing import Annotated

from pydantic import Field

from crds.fields import GatewayDuration
from crds.meta import model
from crds.rules import rule

Share = Annotated[float, Field(allow_inf_nan=False)]
"""Percent, to a ten-thousandth."""


@model
class FaultDelay:
    """A delay that some requests get."""

    fixed_delay: GatewayDuration
    """How long a request waits before it is sent to a backend, such as `250ms` or `2s`."""
    percentage: Share = 100.0
    """The share of the requests that wait, in percent, such as `0.5`. The default is `100`."""


@model
class FaultAbort:
    """An error that some requests get."""

    http_status: Annotated[int | None, Field(ge=200, le=600)] = None
    """The status code of the answer, at most 599."""
    grpc_status: Annotated[int | None, Field(ge=0, le=16)] = None
    """The status of gRPC of the answer, such as `14`; other clients get the status code that is
    nearest."""
    percentage: Share = 100.0
    """The share of the requests that get the error, in percent. The default is `100`."""
    _one = rule(
        "one of httpStatus and grpcStatus must be set",
        lambda it: (it.http_status is None) != (it.grpc_status is None),
        "has(self.httpStatus) != has(self.grpcStatus)",
    )


@model
class FaultInjection:
    """Delays and errors that some requests get on purpose."""

    delay: FaultDelay | None = None
    """A delay that some requests get."""
    abort: FaultAbort | None = None
    """An error that some requests get, after the delay."""
    _any = rule(
        "delay or abort must be set",
        lambda it: it.delay is not None or it.abort is not None,
        "has(self.delay) || has(self.abort)",
    )
