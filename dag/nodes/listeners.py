"""Where traffic arrives: listeners, how TLS is terminated, and streams that are no HTTP.

`Tls` and `Stream` belong to a host (`SecureHost`). What holds for every listener (`Edge`) comes
from the settings alone: it shapes the filter chains, and a changed chain drains its connections.
"""

from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag.nodes.clients import ClientTraffic, OpenConnections
from dag.nodes.guards import StreamGuards
from dag.nodes.texts import Format, Operator, ValueMatch
from dag.nodes.tracing import Tracing
from dag.nodes.upstreams import Cluster, TlsVersion, Trust


class ListenerKey(NamedTuple):
    """A listener of a fleet. Its name depends on its port only, so it outlives its owners."""

    fleet: str
    name: str


class HostKey(NamedTuple):
    """A virtual host: a name on a listener of a fleet."""

    fleet: str
    listener: str
    host: str
    """Lower case: a DNS name, `*.` and a DNS name, or `*` for every host."""


class WeightedCluster(NamedTuple):
    """A share of the connections. Without a cluster they are closed at once."""

    cluster: Cluster | None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes (or datagrams) go to one of the backends, chosen by weight, unread."""

    shares: tuple[WeightedCluster, ...]
    idle_timeout: float | None = None
    """Seconds; 0 is without limit, None what the settings say (of UDP: Envoy's minute)."""
    guards: StreamGuards | None = None
    connections: OpenConnections | None = None
    """How many connections there may be at a time."""
    longest: float | None = None
    """Seconds after which a connection is closed, used or not; without limit if None."""
    handshake: float | None = None
    """Seconds for the handshake where TLS is terminated: 0 is without limit, None what the settings
    say."""


Protocol = Literal["HTTP", "HTTPS", "TCP", "UDP"]
"""`HTTPS` is every listener that reads the server name of clients, also for TLS passthrough."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A port of a fleet: HTTP, with TLS or without, or streams."""

    name: str
    protocol: Protocol
    port: int
    """The port that users see."""
    address: str
    bind_port: int
    """The port that Envoy binds."""
    is_exclusive: bool = False
    """No other process may listen on the port as well."""
    stream: Stream | None = None
    """Where everything on a TCP or UDP port goes. Without it the port is closed."""
    origins: tuple[ObjectRef, ...] = ()
    """The objects whose statuses say so if Envoy refuses the listener."""


@dataclass(frozen=True, slots=True)
class ForwardedCertificate:
    """The parts of the client's certificate that backends get in `x-forwarded-client-cert`."""

    subject: bool = False
    certificate: bool = False
    chain: bool = False
    dns: bool = False
    uri: bool = False


SanKind = Literal["DNS", "EMAIL", "IP_ADDRESS", "URI", "OTHER_NAME"]


class ClientName(NamedTuple):
    """A name that the certificate of a client may have."""

    kind: SanKind
    match: ValueMatch
    oid: str = ""
    """The object identifier, for `OTHER_NAME` only."""


class Resumption(NamedTuple):
    """How sessions of TLS are resumed."""

    stateless: bool
    stateful: bool


@dataclass(frozen=True, slots=True)
class ClientValidation:
    """Clients must show a certificate. While the bundle of `trust` is missing, nobody gets in."""

    trust: Trust | None = None
    """None only with `accepts_untrusted`."""
    is_optional: bool = False
    """A client may show none; one that is shown is checked."""
    accepts_untrusted: bool = False
    """Any certificate is accepted, and only forwarded. (On a stream, also none at all.)"""
    only_leaf_revocations: bool = False
    forward: ForwardedCertificate | None = None
    takes_expired: bool = False
    spki: tuple[str, ...] = ()
    """Hashes of public keys, one of which a certificate must have; any, if empty."""
    hashes: tuple[str, ...] = ()
    """Hashes of certificates, one of which it must have; any, if empty."""
    names: tuple[ClientName, ...] = ()
    """Names, one of which a certificate must have; any, if empty."""


NOTHING_OFFERED = ("none",)
"""ALPN offers nothing."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How TLS is terminated for a host; hosts with equal settings share a filter chain."""

    secret: NamespacedName
    minimum: TlsVersion = "1.2"
    maximum: TlsVersion = "1.3"
    more_secrets: tuple[NamespacedName, ...] = ()
    """Further certificates (ECDSA beside RSA); Envoy shows each client one that it can read."""
    clients: ClientValidation | None = None
    ciphers: tuple[str, ...] = ()
    """Of TLS 1.2, in Envoy's notation; the house's (`Edge`) if empty."""
    curves: tuple[str, ...] = ()
    http_versions: tuple[str, ...] = ()
    """What ALPN offers: `HTTP/1.1`, `HTTP/2`, or `NOTHING_OFFERED`; the settings' if empty, and of
    a stream nothing."""
    signatures: tuple[str, ...] = ()
    """Algorithms of signatures, in BoringSSL's notation; its own if empty."""
    resumption: Resumption | None = None
    """By tickets and by IDs, if None."""
    traffic: ClientTraffic | None = None
    """How requests are read; None: as the settings say."""


@dataclass(frozen=True, slots=True)
class SecureHost:
    """What happens to TLS connections for one name; `*` is every other or no name.

    With `tls` it is terminated: for HTTP, or with a `stream` for that. Without, the stream gets the
    encrypted bytes (passthrough). At least one of both is given.
    """

    tls: Tls | None
    origins: tuple[ObjectRef, ...] = ()
    """Every object that contributes to it; of a stream the one that says where it goes is first."""
    stream: Stream | None = None

    @property
    def can_speak_http3(self) -> bool:
        """Whether HTTP/3 can be served: QUIC has only TLS 1.3, and over it Envoy neither checks
        client certificates nor limits connections."""
        tls = self.tls
        is_plain = tls is not None and tls.clients is None and tls.maximum == "1.3"
        is_counted = tls is not None and tls.traffic is not None and tls.traffic.connections
        return is_plain and not is_counted and self.stream is None


@dataclass(frozen=True, slots=True)
class MonitorTls:
    """Files on Envoy's machine; it reads them again when they change."""

    certificate: str
    key: str
    authority: str = ""
    """The file with the authorities of client certificates; if empty, clients show none."""


MonitorPage = Literal["health", "metrics", "overload", "admin"]
"""`overload` is `health` that fails while Envoy is overloaded."""


@dataclass(frozen=True, slots=True)
class Monitor:
    """A port for health checks, metrics or the admin page."""

    port: int
    """The port that Envoy binds."""
    address: str
    """The address that Envoy binds; the default of where it runs if empty."""
    pages: tuple[MonitorPage, ...]
    tls: MonitorTls | None = None


# What holds for every listener: from the settings.


@dataclass(frozen=True, slots=True)
class AccessLog:
    """The access log of requests and connections, to standard output or a file."""

    path: str = "/dev/stdout"
    format: Format | None = None
    """A line of text, with its line break; Envoy's own if None and without `json`."""
    json: tuple[tuple[str, Format], ...] = ()
    """The fields of a JSON object, instead; what is empty is left out."""
    level: Literal["info", "error", "critical", "disabled"] = "info"
    """All; status 300 and above; 500 and above; none."""

    def operators(self) -> frozenset[str]:
        """The names of the operators in its format or fields."""
        formats = [it for _, it in self.json] or [self.format or Format(())]
        pieces = (piece for it in formats for piece in it.pieces)
        return frozenset(it.name for it in pieces if isinstance(it, Operator))


@dataclass(frozen=True, slots=True)
class Edge:
    """How every listener of every fleet is read."""

    use_proxy_protocol: bool = False
    compression: Literal["gzip", "brotli", "zstd", "disabled"] = "gzip"
    allow_chunked_length: bool = False
    server_header: Literal["overwrite", "append_if_absent", "pass_through"] = "overwrite"
    exact_balance: bool = False
    """Connections are spread evenly over Envoy's threads."""
    max_requests_per_connection: int | None = None
    max_concurrent_streams: int | None = None
    max_headers: int | None = None
    """Header fields of a request; 256 if None."""
    stream_window: int | None = None
    """Bytes that an HTTP/2 client may send ahead of a request; 1 MiB if None."""
    connection_window: int | None = None
    """The same of all requests of a connection; 4 MiB if None."""
    buffer_limit: int | None = None
    """Bytes buffered per connection; the edge guide's 32 KiB if None."""
    normalize_path: bool = True
    """`.` and `..` are resolved."""
    escaped_slashes: Literal["UnescapeAndRedirect", "UnescapeAndForward", "Keep", "Reject"] = (
        "UnescapeAndRedirect"
    )
    """What happens to paths with `%2F` or `%5C`."""
    underscores: Literal["Reject", "Drop", "Allow"] = "Reject"
    """What happens to headers with an underscore in the name."""
    max_connections_per_event: int | None = None
    tos: int | None = None
    traffic_class: int | None = None
    ciphers: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    ja3: bool = False
    ja4: bool = False
    http_log: AccessLog = AccessLog()
    https_log: AccessLog = AccessLog()
    tracing: Tracing | None = None
    http3: bool = False
    """HTTPS listeners serve QUIC on the same UDP port, and announce it (`alt-svc`)."""
