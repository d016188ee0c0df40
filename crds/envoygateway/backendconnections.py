"""The connections of a BackendTrafficPolicy: buffers, HTTP/2, the PROXY protocol, names.

The fields are those of Envoy Gateway 1.9.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.keepalives import HTTP2Keepalive
from crds.envoygateway.opaque import Amount
from crds.fields import Flag, GatewayDuration, Positive32
from crds.gateway.known import Known
from crds.meta import model


@model
class Preconnect:
    """Connections that Envoy opens before a request needs them."""

    per_endpoint_percent: Annotated[int | None, Field(ge=100, le=300)] = None
    """The connections to an endpoint, in percent of those that its requests need: `100` opens none
    ahead, `300` three for each one that is needed."""
    predictive_percent: Annotated[int | None, Field(ge=100)] = None
    """The same over all endpoints, for the endpoints that are likely to be next, at most `300`."""


@model
class BackendConnections:
    """How much of a connection to a backend is buffered, and what is opened ahead."""

    buffer_limit: Amount | None = None
    """The bytes that Envoy buffers for each connection, such as `32Ki`. The default is `32Ki`, or
    what the ContourConfiguration says."""
    socket_buffer_limit: Amount | None = None
    """The bytes that the kernel buffers for each connection, in either direction, such as `128Ki`.
    Linux takes twice as many, for what it needs itself."""
    preconnect: Preconnect | None = None
    """Connections that Envoy opens before a request needs them."""


@model
class BackendHTTP2:
    """How HTTP/2 is spoken to backends that speak it."""

    initial_stream_window_size: Amount | None = None
    """How many bytes a backend may send ahead of an answer, 65535 to 2147483647."""
    initial_connection_window_size: Amount | None = None
    """The same for all answers of a connection together, 65535 to 2147483647."""
    max_concurrent_streams: Positive32 | None = None
    """How many requests a connection may have at a time. The default is what the backend says."""
    on_invalid_message: Annotated[str | None, Known("TerminateConnection", "TerminateStream")] = (
        None
    )
    """What an invalid answer ends: its connection (`TerminateConnection`, the default), or itself
    alone (`TerminateStream`)."""
    connection_keepalive: HTTP2Keepalive | None = None
    """Pings by which dead connections are noticed."""


@model
class BackendProxyProtocol:
    """The PROXY protocol, by which backends are told of the client."""

    version: Literal["V1", "V2"]
    """The version of the protocol: `V1`, which is text, or `V2`, which is binary."""


@model
class BackendDNS:
    """How the names of backends are resolved: of Services of type ExternalName, and of
    XBackends."""

    dns_refresh_rate: GatewayDuration | None = None
    """The time after which a name is resolved again, more than a millisecond. The default is
    `5s`."""
    respect_dns_ttl: Flag | None = None
    """Whether names are resolved again when their record expires, not after `dnsRefreshRate`."""
    lookup_family: (
        Literal["IPv4", "IPv6", "IPv4Preferred", "IPv6Preferred", "IPv4AndIPv6"] | None
    ) = None
    """Which addresses of a name are used. The default is what the ContourConfiguration says."""
