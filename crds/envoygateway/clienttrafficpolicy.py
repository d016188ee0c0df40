"""ClientTrafficPolicy: how a Gateway or one of its listeners takes connections and requests.

The fields and limits are those of Envoy Gateway 1.9. What relates a policy to other objects, and
what can only be checked by parsing a value, is checked by the rules.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.envoygateway.clientheaders import ClientHeaders, NameMatch
from crds.envoygateway.clienttls import ClientTLS
from crds.envoygateway.keepalives import HTTP2Keepalive, TCPKeepalive
from crds.envoygateway.opaque import Amount, Opaque
from crds.envoygateway.policytargets import PolicyTargets
from crds.fields import Flag, GatewayDuration, Positive32, Uint32
from crds.gateway.known import Known
from crds.meta import ObjectMeta, model
from crds.rules import rule
from crds.unserved import Unserved


@model
class ForwardedFor:
    """The header `X-Forwarded-For`, from which the address of the client is read."""

    num_trusted_hops: Uint32 | None = None
    """How many proxies in front are trusted: the client's address is that many from the right."""
    trusted_cidrs: tuple[str, ...] = Field(
        default=(), min_length=1, validation_alias="trustedCIDRs"
    )
    """Ranges of proxies in CIDR notation. The client's address is the first one from the right that
    is in none of them; of a connection from elsewhere it is the connection's own."""
    disable_x_forwarded_for_append: Flag | None = Field(
        default=None, validation_alias="disableXForwardedForAppend"
    )
    """Whether the header goes on to backends without the address of the connection. The default is
    `false`."""
    _one = rule(
        "only one of numTrustedHops or trustedCIDRs must be set",
        lambda it: (it.num_trusted_hops is None) == bool(it.trusted_cidrs),
        "has(self.numTrustedHops) != has(self.trustedCIDRs)",
    )


@model
class AddressHeader:
    """A header of its own that has the address of the client."""

    name: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9-]+$", min_length=1, max_length=255)
    ]
    """The name of the header that has the address of the client."""
    fail_closed: Flag | None = None
    """Whether requests without a valid address in it are answered 403. The default is `false`: the
    address of the connection is used."""


@model
class ClientIPDetection:
    """Where the address of the client is found, for logs, rules and backends."""

    x_forwarded_for: ForwardedFor | None = None
    """The address is read from `X-Forwarded-For`."""
    custom_header: AddressHeader | None = None
    """The address is read from a header of its own, which only trusted proxies may send."""
    direct_source_ip: Opaque | None = Field(default=None, validation_alias="directSourceIP")
    """The address is that of the connection, whatever headers say. It has no fields."""
    _one = rule(
        "exactly one of xForwardedFor, customHeader, or directSourceIP must be set",
        lambda it: (
            sum(v is not None for v in (it.x_forwarded_for, it.custom_header, it.direct_source_ip))
            == 1
        ),
        "[has(self.xForwardedFor), has(self.customHeader), has(self.directSourceIP)]"
        ".filter(x, x).size() == 1",
    )


@model
class ClientProxyProtocol:
    """The PROXY protocol, by which a load balancer tells the address of the client."""

    optional: Flag | None = None
    """Whether connections without its header are taken, too. The default is `false`."""


@model
class ClientPaths:
    """How paths of requests are brought into their normal form before they are routed."""

    escaped_slashes_action: Annotated[
        str | None,
        Known("KeepUnchanged", "RejectRequest", "UnescapeAndForward", "UnescapeAndRedirect"),
    ] = None
    """What becomes of paths with `%2F` or `%5C`: `KeepUnchanged`, `RejectRequest`,
    `UnescapeAndForward` or `UnescapeAndRedirect`."""
    disable_merge_slashes: Flag | None = None
    """Whether several slashes in a row stay as they are. The default is `false`."""


@model
class ClientTCPTimeouts:
    """How long connections may take."""

    idle_timeout: GatewayDuration | None = None
    """How long a connection of a TCPRoute or TLSRoute may rest; `0s` is without limit. The default
    is what the ContourConfiguration says, 9001 seconds."""
    tls_handshake_timeout: GatewayDuration | None = None
    """How long a client may take to negotiate TLS; `0s` is any time."""
    connection_inspection_timeout: GatewayDuration | None = None
    """How long a client may take for the first bytes that are looked at: of TLS and of the PROXY
    protocol. The default is 15s."""


@model
class ClientHTTPTimeouts:
    """How long requests may take, until they are received; `0s` is without limit."""

    request_received_timeout: GatewayDuration | None = None
    """How long a whole request may take to arrive; then it is answered 408."""
    request_headers_received_timeout: GatewayDuration | None = None
    """How long the headers of a request may take to arrive; then it is answered 408."""
    idle_timeout: GatewayDuration | None = None
    """How long a connection without requests is kept before Envoy closes it."""
    stream_idle_timeout: GatewayDuration | None = None
    """How long nothing may happen on a request; then it is ended."""


@model
class ClientTimeouts:
    """How long clients may take to send what they have begun."""

    tcp: ClientTCPTimeouts | None = None
    """How long connections of clients may take, whatever is spoken on them."""
    http: ClientHTTPTimeouts | None = None
    """How long requests of clients may take to arrive, and may rest."""


@model
class ClientConnectionLimit:
    """How many connections there may be, and for how long."""

    value: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    """How many connections may be open at a time, per Envoy; more are closed. Hosts of a listener
    with different certificates are counted apart."""
    close_delay: GatewayDuration | None = None
    """How long a connection that is too many is kept before it is closed. By default it is closed
    at once."""
    max_connection_duration: GatewayDuration | None = None
    """How long a connection is kept at most, whether or not it is used."""
    max_requests_per_connection: Uint32 | None = None
    """How many requests a connection may have; 1 turns keep-alive off."""
    max_stream_duration: GatewayDuration | None = None
    """How long a request with its answer may take at most."""
    _delay = rule(
        "closeDelay can only be configured when value is set",
        lambda it: it.close_delay is None or it.value is not None,
        "!has(self.closeDelay) || has(self.value)",
    )


@model
class ClientConnections:
    """Limits and buffers of the connections of clients to this listener."""

    connection_limit: ClientConnectionLimit | None = None
    """How many connections there may be, and for how long."""
    buffer_limit: Amount | None = None
    """How many bytes are buffered for a connection, such as `32Ki`."""
    socket_buffer_limit: Amount | None = None
    """How many bytes the kernel buffers for a connection, such as `256Ki`."""
    max_accept_per_socket_event: Uint32 | None = None
    """How many connections are taken at a time from those that wait."""


@model
class ClientHTTP10:
    """Requests of HTTP/1.0."""

    use_default_host: Annotated[Flag | None, Unserved()] = None
    """Whether requests without a host are for the host name of the listener, if that has one
    without a wildcard. The default is `false`."""


@model
class ClientHTTP1:
    """How connections that speak HTTP/1 are read, and what they may have."""

    enable_trailers: Flag | None = None
    """Whether trailers are passed on. The default is `false`."""
    preserve_header_case: Flag | None = None
    """Whether names of headers keep their upper and lower case, of requests and of answers; else
    they are in lower case. HTTP/2 and HTTP/3 have lower case alone."""
    http10: ClientHTTP10 | None = None
    """Requests of HTTP/1.0, which are always taken."""
    disable_safe_max_connection_duration: Flag | None = None
    """Whether a connection that is too old is closed at once, not with its next answer."""
    ignored_upgrade_types: tuple[NameMatch, ...] = ()
    """Upgrades that are ignored: such a request is answered as if it asked for none."""


@model
class ClientHTTP2:
    """How connections that speak HTTP/2 are read, and what they may have."""

    initial_stream_window_size: Amount | None = None
    """How many bytes a client may send ahead of a request, 65535 to 2147483647."""
    initial_connection_window_size: Amount | None = None
    """The same for all requests of a connection together, 65535 to 2147483647."""
    max_concurrent_streams: Positive32 | None = None
    """How many requests a connection may have at a time. The default is 100."""
    on_invalid_message: Annotated[str | None, Known("TerminateConnection", "TerminateStream")] = (
        None
    )
    """What an invalid request ends: its connection (`TerminateConnection`, the default), or itself
    alone (`TerminateStream`)."""
    connection_keepalive: HTTP2Keepalive | None = None
    """Pings by which dead connections are noticed, on those that speak HTTP/2."""


@model
class ClientGRPC:
    """Calls of gRPC."""

    enable_web: Annotated[
        Flag | None,
        Unserved(
            instead="gRPC-Web is served on all listeners, for HTTPRoutes; GRPCRoutes take none"
        ),
    ] = None
    """Whether calls of gRPC-Web, as browsers send them, are translated for backends."""


@model
class ClientHealthCheck:
    """The path by which a load balancer asks whether Envoy is there."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """The path whose requests Envoy answers itself, with 200, for every host."""


@model
class ClientTrafficPolicySpec(PolicyTargets):
    """The targets, and how they take connections and requests."""

    tcp_keepalive: TCPKeepalive | None = None
    """Probes of the kernel by which dead connections of clients are noticed and closed."""
    enable_proxy_protocol: Flag | None = None
    """Whether connections must begin with the PROXY protocol. Use `proxyProtocol` instead."""
    proxy_protocol: ClientProxyProtocol | None = None
    """Connections must begin with the PROXY protocol, which tells the address of the client."""
    client_ip_detection: ClientIPDetection | None = Field(
        default=None, validation_alias="clientIPDetection"
    )
    """Where the address of the client is found, for logs, rules and backends."""
    tls: ClientTLS | None = None
    """How TLS of clients is terminated."""
    path: ClientPaths | None = None
    """How paths of requests are brought into their normal form before they are routed."""
    headers: ClientHeaders | None = None
    """What becomes of headers of requests and answers."""
    timeout: ClientTimeouts | None = None
    """How long clients may take to send what they have begun."""
    connection: ClientConnections | None = None
    """Limits and buffers of the connections of clients to this listener."""
    http1: ClientHTTP1 | None = None
    """How connections that speak HTTP/1 are read, and what they may have."""
    http2: ClientHTTP2 | None = None
    """How connections that speak HTTP/2 are read, and what they may have."""
    http3: Opaque | None = None
    """HTTPS listeners are served over HTTP/3 as well, on the UDP port of the same number. It has no
    fields."""
    grpc: ClientGRPC | None = None
    """How calls of gRPC are read, among them those of browsers."""
    health_check: ClientHealthCheck | None = None
    """The path by which a load balancer asks whether Envoy is there."""
    scheme: Annotated[str | None, Known("Preserve", "MatchBackend")] = None
    """Which scheme backends see: that of the client (`Preserve`, the default), or that of the
    connection to the backend (`MatchBackend`)."""


@model
class ClientTrafficPolicy:
    """How a Gateway, a ListenerSet or one of their listeners takes connections and requests. The
    policy of a listener replaces that of its Gateway. Of two policies for the same target, the
    older one applies."""

    metadata: ObjectMeta
    spec: ClientTrafficPolicySpec
    """The targets, and how they take connections and requests."""
