"""How a ContourConfiguration sets up Envoy: listeners, clusters, logs, limits of time.

The names of the fields are Contour's; absent means Envoy's own setting unless said otherwise.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.endpoints import Endpoint, MetricsEndpoint, ObjectName
from crds.fields import Byte, Flag, NonEmpty, Port, PositiveUint32, Uint32, Window
from crds.meta import model
from crds.workloads import NetworkPublishing, Workload


@model
class EnvoyListener:
    """Where Envoy listens."""

    address: NonEmpty | None = None
    """The address; 0.0.0.0 if absent."""
    port: Port | None = None
    """The port; 8080 for HTTP and 8443 for HTTPS if absent."""
    access_log: str | None = None
    """The file of its access log; /dev/stdout if absent."""


@model
class ExternalPorts:
    """The ports that clients see. Beside Contour's fields."""

    http: Port = 80
    """The port of plain HTTP."""
    https: Port = 443
    """The port of HTTPS."""


@model
class UpstreamTLS:
    """The versions, ciphers and curves of TLS with Services."""

    minimum_protocol_version: str | None = None
    """`1.2` or `1.3`; 1.2 if absent."""
    maximum_protocol_version: str | None = None
    """`1.2` or `1.3`; 1.3 if absent."""
    cipher_suites: tuple[str, ...] = ()
    """The ciphers of TLS 1.2."""
    ecdh_curves: tuple[str, ...] = ()
    """The curves."""


@model
class Fingerprint:
    """Fingerprints of clients that Envoy takes."""

    ja3: Flag | None = None
    """By JA3."""
    ja4: Flag | None = None
    """By JA4."""


@model
class ListenerTLS:
    """The versions, ciphers and curves of TLS with clients."""

    minimum_protocol_version: str | None = None
    """`1.2` or `1.3`; 1.2 if absent."""
    maximum_protocol_version: str | None = None
    """`1.2` or `1.3`; 1.3 if absent."""
    cipher_suites: tuple[str, ...] = ()
    """The ciphers of TLS 1.2."""
    ecdh_curves: tuple[str, ...] = ()
    """The curves."""
    fingerprint: Fingerprint | None = None
    """Fingerprints of clients."""


@model
class Compression:
    """How answers are compressed."""

    algorithm: Literal["gzip", "brotli", "zstd", "disabled"] | None = None
    """The algorithm; gzip if absent."""


@model
class SocketOptions:
    """Options of the listening sockets."""

    tos: Byte | None = None
    """The TOS field of IPv4."""
    traffic_class: Byte | None = None
    """The traffic class field of IPv6."""


_BUFFER_LIMIT = "per-connection-buffer-limit-bytes"


@model
class ListenerSettings:
    """What holds for every listener."""

    use_proxy_protocol: Flag | None = None
    """Clients come through a load balancer that speaks the PROXY protocol."""
    disable_allow_chunked_length: Flag | None = None
    """Refuse requests with both Content-Length and chunked encoding; if absent too, other than
    Contour."""
    disable_merge_slashes: Flag | None = None
    """Leave repeated slashes of a path as they are."""
    disable_path_normalization: Flag | None = None
    """Leave `.` and `..` in a path as they are, so that a prefix guards less than it says. Beside
    Contour's fields."""
    escaped_slashes: Literal["UnescapeAndRedirect", "UnescapeAndForward", "Keep", "Reject"] = (
        "UnescapeAndRedirect"
    )
    """What happens to paths with `%2F` or `%5C`: the client is redirected to the path with plain
    slashes, the request is read as if it had them, they stay as they are (as in Contour), or the
    answer is 400. Beside Contour's fields."""
    headers_with_underscores: Literal["Reject", "Drop", "Allow"] = "Reject"
    """What happens to a header with an underscore in its name: the request is answered 400, the
    header is dropped, or it is passed on (as in Contour). Beside Contour's fields."""
    server_header_transformation: str | None = None
    """The Server header: overwrite (if absent), append_if_absent or pass_through."""
    connection_balancer: str | None = None
    """`exact` spreads connections evenly over the threads."""
    max_requests_per_connection: PositiveUint32 | None = None
    """Close a connection after so many requests."""
    per_connection_buffer_limit_bytes: PositiveUint32 | None = Field(
        default=None, validation_alias=_BUFFER_LIMIT
    )
    """How many bytes are kept in memory for a connection before its sender has to wait; 32 KiB if
    absent. A request that may be sent again is kept up to a megabyte, or up to this if it is more.
    """
    tls: ListenerTLS | None = None
    """TLS with clients."""
    socket_options: SocketOptions | None = None
    """Options of the sockets."""
    max_requests_per_io_cycle: PositiveUint32 | None = None
    """How many requests of one connection are taken at a time."""
    http_max_concurrent_streams: PositiveUint32 | None = None
    """How many requests an HTTP/2 client may have open."""
    http2_stream_window_bytes: Window | None = None
    """How many bytes of a request an HTTP/2 client may send ahead; 1 MiB if absent. Beside
    Contour's fields."""
    http2_connection_window_bytes: Window | None = None
    """The same of all requests of a connection; 4 MiB if absent. Beside Contour's fields."""
    max_headers_count: PositiveUint32 | None = None
    """How many header fields a request may have; 256 if absent. Over HTTP/2 and HTTP/3 each cookie
    is a field. Beside Contour's fields."""
    max_connections_per_listener: PositiveUint32 | None = None
    """How many connections a listener may have."""
    max_connections_to_accept_per_socket_event: PositiveUint32 | None = None
    """How many connections are taken at a time."""
    compression: Compression | None = None
    """How answers are compressed."""
    http3: Flag | None = None
    """Let clients speak HTTP/3 (QUIC) on the HTTPS listener too. Beside Contour's fields."""
    routing: Literal["Shards", "Single"] = "Shards"
    """Shards: a change of one host costs the same however many there are. Single: one plain route
    configuration. Read when a listener is first made. Beside Contour's fields."""


@model
class Logging:
    """The access log."""

    access_log_format: str | None = None
    """`envoy` (if absent) or `json`."""
    access_log_format_string: str | None = None
    """The line of the format `envoy`."""
    access_log_json_fields: tuple[str, ...] = ()
    """The fields of the format `json`."""
    access_log_level: str | None = None
    """info (if absent), error, critical or disabled."""


@model
class CircuitBreakers:
    """Limits towards each Service, for each Envoy."""

    max_connections: Uint32 | None = None
    """Connections."""
    max_pending_requests: Uint32 | None = None
    """Requests that wait for a connection."""
    max_requests: Uint32 | None = None
    """Requests at once."""
    max_retries: Uint32 | None = None
    """Further tries at once."""
    per_host_max_connections: Uint32 | None = None
    """Connections to each endpoint."""


@model
class ClusterSettings:
    """What holds towards every Service."""

    dns_lookup_family: str | None = None
    """The addresses of external names: auto (if absent), v4, v6 or all."""
    max_requests_per_connection: PositiveUint32 | None = None
    """Close a connection after so many requests."""
    per_connection_buffer_limit_bytes: PositiveUint32 | None = Field(
        default=None, validation_alias=_BUFFER_LIMIT
    )
    """How many bytes are kept in memory for a connection before its sender has to wait; 32 KiB if
    absent."""
    http2_stream_window_bytes: Window | None = None
    """How many bytes of an answer an HTTP/2 Service may send ahead; Envoy's own
    size if absent.
    Beside Contour's fields."""
    http2_connection_window_bytes: Window | None = None
    """The same of all answers of a connection; Envoy's own size if absent. Beside Contour's
    fields."""
    circuit_breakers: CircuitBreakers | None = None
    """Limits; annotations of a Service win over them."""
    upstream_tls: UpstreamTLS | None = None
    """TLS with Services."""


@model
class NetworkSettings:
    """Envoy's place in the network."""

    num_trusted_hops: Uint32 | None = None
    """How many proxies in front of Envoy are believed about the client's address."""
    admin_port: Annotated[int, Field(ge=0, le=65535, strict=True)] | None = None
    """The port of 127.0.0.1 where the admin pages can be read; if absent or 0, nowhere."""
    strip_trailing_host_dot: Flag | None = None
    """Take `example.com.` for `example.com`; if absent too, other than Contour."""


@model
class TimeoutSettings:
    """Limits of time; `infinity` lifts one."""

    request_timeout: str | None = None
    """How long a client may take to send a request; no limit if absent."""
    connection_idle_timeout: str | None = None
    """How long a connection of a client is kept without requests."""
    stream_idle_timeout: str | None = None
    """How long a request may rest without a byte in either direction."""
    max_connection_duration: str | None = None
    """How long a connection of a client is kept at all."""
    delayed_close_timeout: str | None = None
    """How long a client is given to close a connection."""
    connection_shutdown_grace_period: str | None = None
    """How long between the first and the last notice that a connection ends."""
    request_headers_timeout: str | None = None
    """How long a client may take to send the header of a request; 10 seconds if absent. Beside
    Contour's fields."""
    tls_handshake_timeout: str | None = None
    """How long a client may take for the TLS handshake; 10 seconds if absent. Beside Contour's
    fields."""
    tcp_idle_timeout: str | None = None
    """How long a connection that is passed on as bytes (`tcpproxy`, TCPRoute, TLSRoute) may rest
    without a byte in either direction; 9001 seconds if absent, as in Contour. Beside Contour's
    fields."""
    connect_timeout: str | None = None
    """How long a connection to an endpoint may take; 2 seconds if absent."""


@model
class Envoy:
    """How Envoy is set up."""

    listener: ListenerSettings | None = None
    """What holds for every listener."""
    service: ObjectName | None = None
    """The Service whose address is told in statuses."""
    http: EnvoyListener | None = None
    """Where Envoy listens for plain HTTP."""
    https: EnvoyListener | None = None
    """Where Envoy listens for HTTPS."""
    external_ports: ExternalPorts | None = None
    """The ports that clients see: for redirects, and of the Service of a fleet that we make. Where
    they are set, they are served beside those of a Gateway. Beside Contour's fields."""
    health: Endpoint | None = None
    """Where Envoy's health is told; 0.0.0.0:8002 where no more is said."""
    om_enforced_health: Endpoint | None = None
    """Where Envoy's health is told only while it is not overloaded."""
    metrics: MetricsEndpoint | None = None
    """Where Envoy's metrics are; 0.0.0.0:8002 where no more is said. Files are those of Envoy."""
    client_certificate: ObjectName | None = None
    """The Secret with the certificate that Services are shown."""
    logging: Logging | None = None
    """The access log."""
    default_http_versions: tuple[str, ...] = ()
    """What clients may speak: HTTP/1.1, HTTP/2; both if empty."""
    timeouts: TimeoutSettings | None = None
    """Limits of time."""
    cluster: ClusterSettings | None = None
    """What holds towards every Service."""
    network: NetworkSettings | None = None
    """Envoy's place in the network."""
    runtime_settings: dict[str, str] = Field(default_factory=dict)
    """Runtime keys of Envoy and their values."""
    network_publishing: NetworkPublishing | None = None
    """Present: we make and keep a fleet of Envoys and its Service. Beside Contour's fields."""
    managed: Flag | None = None
    """`false`: leave the fleet that we made as it is from now on. Beside Contour's fields."""
    workload: Workload | None = None
    """How the Envoys of a fleet that we make run. Beside Contour's fields."""
