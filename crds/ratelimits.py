"""Rate limits: counted by each Envoy on its own, or by a rate limit service for all of them.

Used by virtual hosts and routes of an HTTPProxy, and by the default in a ContourConfiguration.
"""

from typing import Annotated, Literal

from pydantic import Field, Strict

from crds.conditions import HeaderMatchCondition
from crds.fields import Flag, NonEmpty, PositiveUint32, Uint32
from crds.meta import model
from crds.policies import HeaderValue


@model
class LocalRateLimitPolicy:
    """A rate limit that each Envoy counts on its own, so that the total grows with the number of
    Envoys. If it is invalid, the virtual host or route answers 503."""

    requests: PositiveUint32
    """The number of requests that are allowed in each unit of time. On a host with a `tcpproxy`,
    connections are counted instead."""
    unit: Literal["second", "minute", "hour"]
    """The unit of time in which `requests` are counted: a second, a minute or an hour."""
    burst: Uint32 = 0
    """The number of requests above `requests` that are allowed for a short time. The default is
    0."""
    response_status_code: Annotated[int, Strict(), Field(ge=400, le=599)] | None = None
    """The HTTP status code of the response to rejected requests, an error code that Envoy knows.
    The default is 429."""
    response_headers_to_add: tuple[HeaderValue, ...] = ()
    """Headers that are set on the response to rejected requests."""


@model
class GenericKeyDescriptor:
    """A descriptor entry with a fixed key and a fixed value."""

    key: str = ""
    """The key of the entry. The default is `generic_key`."""
    value: NonEmpty
    """The value of the entry, by which the rate limit service finds the limit."""


@model
class RequestHeaderDescriptor:
    """A descriptor entry whose value is that of a request header. If the request does not have the
    header, the whole descriptor is not sent."""

    header_name: NonEmpty
    """The name of the request header whose value is sent; it is case-insensitive."""
    descriptor_key: NonEmpty
    """The key of the entry under which the value is sent."""


@model
class RequestHeaderValueMatchDescriptor:
    """A descriptor entry with the key `header_match` and a fixed value, which is sent if the
    request headers meet the conditions."""

    headers: tuple[HeaderMatchCondition, ...] = Field(default=(), min_length=1)
    """The conditions on request headers, which must all hold; at least one is required."""
    expect_match: Flag = True
    """If true, the entry is sent when the conditions hold; if false, when they do not hold. The
    default is true."""
    value: NonEmpty
    """The value of the entry, by which the rate limit service finds the limit."""


@model
class RemoteAddressDescriptor:
    """A descriptor entry with the key `remote_address` and the IP address of the client as its
    value."""


@model
class RateLimitDescriptorEntry:
    """One key and value of a descriptor. Exactly one of the fields must be set; otherwise the
    virtual host or route answers 503."""

    generic_key: GenericKeyDescriptor | None = None
    """The entry has a fixed key and a fixed value."""
    request_header: RequestHeaderDescriptor | None = None
    """The value of the entry is that of a request header."""
    request_header_value_match: RequestHeaderValueMatchDescriptor | None = None
    """The entry has a fixed value and is sent if request headers meet conditions."""
    remote_address: RemoteAddressDescriptor | None = None
    """The value of the entry is the IP address of the client."""


@model
class RateLimitDescriptor:
    """What the rate limit service counts by: it keeps one counter for each combination of the
    values of these entries."""

    entries: tuple[RateLimitDescriptorEntry, ...] = Field(min_length=1)
    """The keys and values of the descriptor, in the order in which the service gets them."""


@model
class GlobalRateLimitPolicy:
    """A rate limit that a service counts for all Envoys: the `rateLimitService` of the
    configuration. Without that service, and on routes without services, it has no effect, and a
    warning says so."""

    disabled: Flag = False
    """If true, the wider policy does not apply: on a virtual host the default of the configuration,
    on a route the policy of its virtual host."""
    descriptors: tuple[RateLimitDescriptor, ...] = Field(default=(), min_length=1)
    """The descriptors that are sent to the rate limit service for each request. A request is
    rejected if one of them is over its limit."""


@model
class RateLimitPolicy:
    """Limits on the rate of requests. A local and a global limit may be combined; a request must be
    within both."""

    local: LocalRateLimitPolicy | None = None
    """The limit that each Envoy counts on its own."""
    global_: GlobalRateLimitPolicy | None = Field(default=None, validation_alias="global")
    """The limit that the rate limit service counts for all Envoys."""
