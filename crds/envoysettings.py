"""How a ContourConfiguration sets up Envoy: listeners, clusters, logs and timeouts.

The names of the fields are Contour's. Unless a field says otherwise, absent means Envoy's default.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.custombootstrap import CustomBootstrap
from crds.endpoints import Endpoint, MetricsEndpoint, ObjectName
from crds.fields import Byte, Flag, NonEmpty, Port, PositiveUint32, Uint32, Window
from crds.meta import model
from crds.workloads import NetworkPublishing, Workload


@model
class EnvoyListener:
    """The address and port on which Envoy listens for requests. `contour run` has the options
    `--bind` and `--map-port` instead."""

    address: NonEmpty | None = None
    """The IP address to listen on; by default `0.0.0.0`, all IPv4 addresses."""
    port: Port | None = None
    """The TCP port to listen on: by default 8080 for HTTP and 8443 for HTTPS."""
    access_log: str | None = None
    """The path of the file that the access log is written to. The default is `/dev/stdout`."""


@model
class ExternalPorts:
    """The ports that clients connect to, if a Service or load balancer maps them to Envoy's. The
    two ports must differ. Upstream Contour does not have this type."""

    http: Port = 80
    """The port that clients use for plain HTTP. The default is 80."""
    https: Port = 443
    """The port that clients use for HTTPS, to which redirects lead. The default is 443."""


@model
class UpstreamTLS:
    """The TLS versions, ciphers and curves that Envoy uses towards Services."""

    minimum_protocol_version: str | None = None
    """The lowest TLS version, `1.2` or `1.3`. The default is `1.2`; another value, or one above the
    maximum, is an error."""
    maximum_protocol_version: str | None = None
    """The highest TLS version, `1.2` or `1.3`. The default is `1.3`; another value is an error."""
    cipher_suites: tuple[str, ...] = ()
    """The cipher suites for TLS 1.2, by Envoy's names. The default is Contour's list of ECDHE
    suites with AES-GCM and ChaCha20; an unknown name is an error."""
    ecdh_curves: tuple[str, ...] = ()
    """The elliptic curves for the key exchange, such as `X25519` or `P-256`. The default is Envoy's
    list; an unknown name is an error."""


@model
class Fingerprint:
    """Which fingerprints Envoy takes of TLS clients, for the access log and for headers."""

    ja3: Flag | None = None
    """If true, Envoy takes the JA3 fingerprint of each TLS client. The default is false."""
    ja4: Flag | None = None
    """If true, Envoy takes the JA4 fingerprint of each TLS client. The default is false."""


@model
class ListenerTLS:
    """The TLS versions, ciphers and curves that Envoy offers clients."""

    minimum_protocol_version: str | None = None
    """The lowest TLS version, `1.2` or `1.3`; no host may go below it. The default is `1.2`;
    another value, or one above the maximum, is an error."""
    maximum_protocol_version: str | None = None
    """The highest TLS version, `1.2` or `1.3`; no host may go above it. The default is `1.3`;
    another value is an error."""
    cipher_suites: tuple[str, ...] = ()
    """The cipher suites for TLS 1.2, by Envoy's names. The default is Contour's list of ECDHE
    suites with AES-GCM and ChaCha20; an unknown name is an error."""
    ecdh_curves: tuple[str, ...] = ()
    """The elliptic curves for the key exchange, such as `X25519` or `P-256`. The default is Envoy's
    list; an unknown name is an error."""
    fingerprint: Fingerprint | None = None
    """Which fingerprints Envoy takes of TLS clients. By default it takes none."""


@model
class Compression:
    """How responses are compressed for clients that accept it."""

    algorithm: Literal["gzip", "brotli", "zstd", "disabled"] | None = None
    """The compression algorithm: gzip (the default), brotli or zstd; `disabled` compresses
    nothing."""


@model
class SocketOptions:
    """IP options of the sockets that Envoy listens on. With `contour run` a change takes effect at
    the next start."""

    tos: Byte | None = None
    """The value of the TOS field of IPv4 packets, from 0 to 255. By default it is not set."""
    traffic_class: Byte | None = None
    """The value of the traffic class field of IPv6 packets, from 0 to 255. By default it is not
    set; on IPv4 listeners it has no effect."""


_BUFFER_LIMIT = "per-connection-buffer-limit-bytes"


@model
class ListenerSettings:
    """Settings that apply to every listener of Envoy."""

    use_proxy_protocol: Flag | None = None
    """If true, every connection must begin with a PROXY protocol header, from which the client's
    address is read. Connections without one are closed. The default is false."""
    disable_allow_chunked_length: Flag | None = None
    """If true, requests with both `Content-Length` and chunked encoding are rejected. The default
    is true here, unlike in upstream Contour; set `false` to allow them."""
    disable_merge_slashes: Flag | None = None
    """If true, repeated slashes in a path are kept. By default they are merged into one before
    routes are matched."""
    disable_path_normalization: Flag | None = None
    """If true, `.` and `..` in a path are kept, so that a prefix protects less than it seems to.
    By default they are resolved before routes are matched. Upstream Contour does not have this
    field."""
    escaped_slashes: Literal["UnescapeAndRedirect", "UnescapeAndForward", "Keep", "Reject"] = (
        "UnescapeAndRedirect"
    )
    """What happens to a path with `%2F` or `%5C`. UnescapeAndRedirect, the default, redirects to
    the path with plain slashes; UnescapeAndForward reads it as that path; Keep leaves it unchanged,
    as upstream Contour does; Reject answers 400. Upstream Contour does not have this field."""
    headers_with_underscores: Literal["Reject", "Drop", "Allow"] = "Reject"
    """What happens to a request header with an underscore in its name. Reject, the default, answers
    400; Drop removes the header; Allow keeps it, as upstream Contour does. Upstream Contour does
    not have this field."""
    server_header_transformation: str | None = None
    """What happens to the `Server` header of responses: overwrite (the default) sets it to `envoy`,
    append_if_absent adds it where it is missing, pass_through leaves it unchanged. Another value is
    an error."""
    connection_balancer: str | None = None
    """With `exact` Envoy distributes connections evenly over its worker threads. By default the
    kernel decides; another value is an error."""
    max_requests_per_connection: PositiveUint32 | None = None
    """Envoy closes a client's connection after this number of requests. By default there is no
    limit."""
    per_connection_buffer_limit_bytes: PositiveUint32 | None = Field(
        default=None, validation_alias=_BUFFER_LIMIT
    )
    """The number of bytes that Envoy buffers for a connection before the sender has to wait. The
    default is 32 KiB. The body of a request that may be retried is buffered up to 1 MiB, or up to
    this limit if that is larger."""
    tls: ListenerTLS | None = None
    """The TLS versions, ciphers and curves that Envoy offers clients."""
    socket_options: SocketOptions | None = None
    """IP options of the sockets that Envoy listens on."""
    max_requests_per_io_cycle: PositiveUint32 | None = None
    """The number of requests of one connection that Envoy handles before it turns to other
    connections. By default there is no limit."""
    http_max_concurrent_streams: PositiveUint32 | None = None
    """The number of requests that an HTTP/2 client may have open at the same time on a connection.
    The default is 100."""
    http2_stream_window_bytes: Window | None = None
    """The number of bytes of a request that an HTTP/2 or HTTP/3 client may send before Envoy
    acknowledges them. The default is 1 MiB; larger values speed up uploads and cost memory.
    Upstream Contour does not have this field."""
    http2_connection_window_bytes: Window | None = None
    """The number of bytes of all requests of a connection that an HTTP/2 or HTTP/3 client may send
    before Envoy acknowledges them. The default is 4 MiB, or `http2StreamWindowBytes` if that is
    larger. Upstream Contour does not have this field."""
    max_headers_count: PositiveUint32 | None = None
    """The number of header fields that a request may have; over HTTP/2 and HTTP/3 each cookie is
    one. The default is 256, and more are answered with 431. Upstream Contour does not have this
    field."""
    max_connections_per_listener: PositiveUint32 | None = None
    """The number of connections that a listener accepts at the same time; further ones are closed.
    By default there is no limit."""
    max_connections_to_accept_per_socket_event: PositiveUint32 | None = None
    """The number of connections that Envoy accepts before it turns to other work. By default it
    accepts all that are waiting."""
    compression: Compression | None = None
    """How responses are compressed for clients that accept it. The default is gzip."""
    http3: Flag | None = None
    """If true, clients may use HTTP/3 (QUIC) on the UDP port of each HTTPS listener. The default is
    false; it has no effect together with `useProxyProtocol`. Upstream Contour does not have this
    field."""
    routing: Literal["Auto", "Shards", "Single"] = "Auto"
    """How hosts are divided into xDS resources. With Shards, a change of one host costs the same
    however many hosts there are; Single uses one RouteConfiguration, which costs less for each
    request, and more for each change the more hosts there are. Auto, the default, is Shards in a
    cluster; `contour run` uses Single if there are few hosts when it starts. A change takes effect
    at the next start. Upstream Contour does not have this field."""


@model
class Logging:
    """The access log of all listeners: its format and which requests it has."""

    access_log_format: str | None = None
    """The format of the access log: `envoy` (the default), a line of text, or `json`, an object per
    line. Another value is an error."""
    access_log_format_string: str | None = None
    """The line of the format `envoy`, with Envoy's operators such as `%RESPONSE_CODE%`. It must end
    with a line break. The default is Envoy's line; an unknown operator is an error."""
    access_log_json_fields: tuple[str, ...] = ()
    """The fields of the format `json`: known names such as `method`, operators without an argument
    such as `route_name`, or `name=%OPERATOR%`. The default is Contour's list; an unknown name or
    operator is an error."""
    access_log_level: str | None = None
    """Which requests are logged: info (the default) logs all of them, error those with a status
    code from 300, critical those with one from 500, disabled none. Another value is an error."""


@model
class CircuitBreakers:
    """Limits on what each Envoy may have open towards a Service at the same time. An absent limit
    and 0 mean the default."""

    max_connections: Uint32 | None = None
    """The number of connections to all endpoints of the Service; further requests wait for one.
    Envoy's default is 1024."""
    max_pending_requests: Uint32 | None = None
    """The number of requests that may wait for a connection; further ones are answered with 503.
    Envoy's default is 1024."""
    max_requests: Uint32 | None = None
    """The number of requests that may be in progress at the same time; further ones are answered
    with 503. Envoy's default is 1024."""
    max_retries: Uint32 | None = None
    """The number of retries that may be in progress at the same time; further failures are not
    retried. Envoy's default is 3."""
    per_host_max_connections: Uint32 | None = None
    """The number of connections to each single endpoint. By default there is no limit."""


@model
class ClusterSettings:
    """Settings that apply to the connections to every Service."""

    dns_lookup_family: str | None = None
    """The IP version by which external names are resolved: auto (the default) prefers IPv6 and
    falls back to IPv4; v4 and v6 use one alone; all uses both. Another value is an error."""
    max_requests_per_connection: PositiveUint32 | None = None
    """Envoy closes a connection to an endpoint after this number of requests. By default there is
    no limit."""
    per_connection_buffer_limit_bytes: PositiveUint32 | None = Field(
        default=None, validation_alias=_BUFFER_LIMIT
    )
    """The number of bytes that Envoy buffers for a connection to an endpoint before the sender has
    to wait. The default is 32 KiB."""
    http2_stream_window_bytes: Window | None = None
    """The number of bytes of a response that an HTTP/2 Service may send before Envoy acknowledges
    them. Envoy's default is 16 MiB; smaller values save memory. Upstream Contour does not have this
    field."""
    http2_connection_window_bytes: Window | None = None
    """The number of bytes of all responses of a connection that an HTTP/2 Service may send
    before Envoy acknowledges them. Envoy's default is 24 MiB. Upstream Contour does not have
    this field."""
    circuit_breakers: CircuitBreakers | None = None
    """Limits on what each Envoy may have open towards every Service. Annotations of a Service such
    as `projectcontour.io/max-connections` win over them, each over its own limit."""
    upstream_tls: UpstreamTLS | None = None
    """The TLS versions, ciphers and curves that Envoy uses towards Services."""


@model
class NetworkSettings:
    """How Envoy is placed in the network, and its administration pages."""

    num_trusted_hops: Uint32 | None = None
    """The number of proxies in front of Envoy whose `X-Forwarded-For` entries are trusted when the
    client's address is determined. The default is 0."""
    admin_port: Annotated[int, Field(ge=0, le=65535, strict=True)] | None = None
    """The TCP port on `127.0.0.1` at which Envoy serves those of its administration pages that only
    read. If it is absent or 0, they are not served."""
    strip_trailing_host_dot: Flag | None = None
    """If true, the host name `example.com.` is read as `example.com`. The default is true here,
    unlike in upstream Contour."""


@model
class TimeoutSettings:
    """Timeouts of clients' requests and connections, as durations such as `30s`. Absent and zero
    mean the default, `infinity` means no limit; more than 24 hours, or another text, is an
    error."""

    request_timeout: str | None = None
    """The longest time until a client has sent a complete request. By default there is no limit."""
    connection_idle_timeout: str | None = None
    """The longest time that a client's connection is kept open without requests. Envoy's default is
    1 hour."""
    stream_idle_timeout: str | None = None
    """The longest time that a request may go on without a byte in either direction. Envoy's default
    is 5 minutes."""
    max_connection_duration: str | None = None
    """The longest time that a client's connection is kept open at all. By default there is no
    limit."""
    delayed_close_timeout: str | None = None
    """The time that Envoy gives a client to close its connection before Envoy closes it. Envoy's
    default is 1 second."""
    connection_shutdown_grace_period: str | None = None
    """The time between the first and the final GOAWAY by which Envoy ends an HTTP/2 connection.
    Envoy's default is 5 seconds."""
    request_headers_timeout: str | None = None
    """The longest time until a client has sent the headers of a request. The default is 10 seconds.
    Upstream Contour does not have this field."""
    tls_handshake_timeout: str | None = None
    """The longest time until a client has completed the TLS handshake. The default is 10 seconds.
    Upstream Contour does not have this field."""
    tcp_idle_timeout: str | None = None
    """The longest time that a forwarded connection (`tcpproxy`, TCPRoute, TLSRoute) may go on
    without a byte in either direction. The default is 9001 seconds. Upstream Contour does not have
    this field."""
    connect_timeout: str | None = None
    """The longest time until a connection to an endpoint is established. The default is 2 seconds;
    `infinity` also means the default."""


@model
class Envoy:
    """The settings of Envoy: its listeners, clusters, logs and timeouts, and how its pods run."""

    listener: ListenerSettings | None = None
    """Settings that apply to every listener of Envoy."""
    service: ObjectName | None = None
    """The Service of Envoy, whose addresses are written to the status of Ingresses, HTTPProxies and
    Gateways. The default is the Service that the flags of `contour serve` name."""
    http: EnvoyListener | None = None
    """The address and port on which Envoy listens for plain HTTP. The default is `0.0.0.0:8080`."""
    https: EnvoyListener | None = None
    """The address and port on which Envoy listens for HTTPS. The default is `0.0.0.0:8443`."""
    external_ports: ExternalPorts | None = None
    """The ports that clients connect to, for redirects and for the Service of a managed fleet. If
    they are set, they are served in addition to those of a Gateway. The default is 80 and 443.
    Upstream Contour does not have this field."""
    health: Endpoint | None = None
    """The address and port at which Envoy serves `/ready`. The default port is 8002."""
    om_enforced_health: Endpoint | None = None
    """The address and port at which Envoy serves `/ready` and rejects probes while it is
    overloaded. The port is required and must not be shared."""
    metrics: MetricsEndpoint | None = None
    """The address and port at which Envoy serves `/stats` and `/stats/prometheus`. The default port
    is 8002. The files of `tls` are on Envoy's machine."""
    client_certificate: ObjectName | None = None
    """The TLS Secret with the client certificate that Envoy sends to Services that ask for one. By
    default it sends none; a missing or invalid Secret is an error."""
    logging: Logging | None = None
    """The access log of all listeners: its format and which requests it has."""
    default_http_versions: tuple[str, ...] = ()
    """The HTTP versions that clients may use, `HTTP/1.1` and `HTTP/2`. The default is both; another
    value is an error."""
    timeouts: TimeoutSettings | None = None
    """Timeouts of clients' requests and connections, and of connections to endpoints."""
    cluster: ClusterSettings | None = None
    """Settings that apply to the connections to every Service."""
    network: NetworkSettings | None = None
    """How Envoy is placed in the network, and its administration pages."""
    runtime_settings: dict[str, str] = Field(default_factory=dict)
    """Keys of Envoy's runtime, up to 253 characters each, with their values. Keys that begin with
    `re2.max_program_size.` are an error."""
    network_publishing: NetworkPublishing | None = None
    """The Service in front of Envoy. If this is present, the instance makes a fleet of Envoys with
    its Service and keeps both as they should be. Upstream Contour does not have this field."""
    managed: Flag | None = None
    """If false, the fleet that the instance has made is left as it is and no longer updated. The
    default is true. Upstream Contour does not have this field."""
    bootstrap: CustomBootstrap | None = None
    """The bootstrap with which Envoys start, if it is to be another than the usual one. Upstream
    Contour does not have this field."""
    workload: Workload | None = None
    """How the Envoys of a managed fleet run. Upstream Contour does not have this field."""
