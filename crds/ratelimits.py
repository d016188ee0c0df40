"""Limits of the number of requests: counted by each Envoy, or by a rate limit service for all.

For virtual hosts and routes of an HTTPProxy, and for the default in a ContourConfiguration.
"""

from typing import Annotated, Literal

from pydantic import Field, Strict

from crds.conditions import HeaderMatchCondition
from crds.fields import Flag, NonEmpty, PositiveUint32, Uint32
from crds.meta import model
from crds.policies import HeaderValue


@model
class LocalRateLimitPolicy:
    """So many requests for each Envoy."""

    requests: PositiveUint32
    """How many in one unit of time."""
    unit: Literal["second", "minute", "hour"]
    """The unit of time."""
    burst: Uint32 = 0
    """How many more for a short while."""
    response_status_code: Annotated[int, Strict(), Field(ge=400, le=599)] | None = None
    """The status of the answer to the others; 429 if absent."""
    response_headers_to_add: tuple[HeaderValue, ...] = ()
    """Headers of that answer."""


@model
class GenericKeyDescriptor:
    """An entry whose key and value are fixed."""

    key: str = ""
    """The key; `generic_key` if empty."""
    value: NonEmpty
    """The value."""


@model
class RequestHeaderDescriptor:
    """An entry with the value of a header; left out, with its descriptor, where it is missing."""

    header_name: NonEmpty
    """The header."""
    descriptor_key: NonEmpty
    """The key."""


@model
class RequestHeaderValueMatchDescriptor:
    """An entry with a fixed value, made if the request's headers meet the conditions."""

    headers: tuple[HeaderMatchCondition, ...] = Field(default=(), min_length=1)
    """The conditions."""
    expect_match: Flag = True
    """`false`: made if they are not met."""
    value: NonEmpty
    """The value."""


@model
class RemoteAddressDescriptor:
    """An entry with the address of the client."""


@model
class RateLimitDescriptorEntry:
    """A key and a value; exactly one of the fields is set."""

    generic_key: GenericKeyDescriptor | None = None
    """A fixed one."""
    request_header: RequestHeaderDescriptor | None = None
    """One from a header."""
    request_header_value_match: RequestHeaderValueMatchDescriptor | None = None
    """One that depends on headers."""
    remote_address: RemoteAddressDescriptor | None = None
    """The address of the client."""


@model
class RateLimitDescriptor:
    """What the service counts by: one counter for each combination of its entries."""

    entries: tuple[RateLimitDescriptorEntry, ...] = Field(min_length=1)
    """Keys and values."""


@model
class GlobalRateLimitPolicy:
    """What the rate limit service is asked."""

    disabled: Flag = False
    """Do without the default policy (on a virtual host) or the virtual host's (on a route)."""
    descriptors: tuple[RateLimitDescriptor, ...] = Field(default=(), min_length=1)
    """What is counted; each is sent to the service by itself."""


@model
class RateLimitPolicy:
    """Limits on requests; both kinds may be set."""

    local: LocalRateLimitPolicy | None = None
    """Counted by each Envoy for itself."""
    global_: GlobalRateLimitPolicy | None = Field(default=None, validation_alias="global")
    """Counted by a service for all Envoys."""
