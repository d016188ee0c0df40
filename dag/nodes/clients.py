"""Settings of connections and requests of clients, as a ClientTrafficPolicy asks for them.

`Sockets` are settings of a whole port, for all of its hosts; `ClientTraffic` are those of a filter
chain. None means as the settings say (`Edge`). Durations are seconds, and 0 is without limit.
"""

from typing import Literal, NamedTuple

from crds.records import dataclass
from dag.nodes.texts import ValueMatch

EscapedSlashes = Literal["UnescapeAndRedirect", "UnescapeAndForward", "Keep", "Reject"]
Underscores = Literal["Reject", "Drop", "Allow"]
ProxyProtocol = Literal["required", "optional", "off"]
CertificateMode = Literal[
    "Sanitize", "ForwardOnly", "AppendForward", "SanitizeSet", "AlwaysForwardOnly"
]
RequestId = Literal["PreserveOrGenerate", "Preserve", "Generate", "Disable"]

CERTIFICATE_MODES: tuple[CertificateMode, ...] = (
    "Sanitize",
    "ForwardOnly",
    "AppendForward",
    "SanitizeSet",
    "AlwaysForwardOnly",
)
REQUEST_IDS: tuple[RequestId, ...] = ("PreserveOrGenerate", "Preserve", "Generate", "Disable")


class Keepalive(NamedTuple):
    """When the kernel considers a connection dead. Seconds are whole."""

    probes: int
    idle: int
    interval: int


class OpenConnections(NamedTuple):
    """How many connections there may be at a time, per Envoy."""

    most: int
    close_delay: float = 0.0
    """Seconds after which a connection beyond the limit is closed."""


class Pings(NamedTuple):
    """When an HTTP/2 connection is considered dead."""

    interval: float | None = None
    timeout: float = 20.0
    jitter: int = 15
    """Percent."""
    idle: float | None = None


@dataclass(frozen=True, slots=True)
class HeaderChanges:
    """Headers that are changed on all requests or answers of a chain. Values are literal."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    add_if_absent: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()
    remove_matching: tuple[ValueMatch, ...] = ()
    """Matches of the names, in lower case."""


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """How the address of a client is found: by hops, by ranges, or in a header of its own."""

    hops: int = 0
    proxies: tuple[str, ...] = ()
    """Ranges of trusted proxies, in CIDR notation."""
    header: str = ""
    fails_closed: bool = False
    """Requests without a valid address in that header are answered 403."""
    is_appended: bool = True
    """The connection's address is added to `X-Forwarded-For`."""


@dataclass(frozen=True, slots=True)
class ClientTraffic:
    """How a filter chain reads requests."""

    address: ClientAddress | None = None
    envoy_headers: bool | None = None
    hides_limits: bool = False
    """Answers have no rate limit headers unless a rule asks for them."""
    underscores: Underscores | None = None
    escaped_slashes: EscapedSlashes | None = None
    merge_slashes: bool | None = None
    strip_host_dot: bool | None = None
    certificate_mode: CertificateMode | None = None
    """How `x-forwarded-client-cert` is handled."""
    certificate_details: tuple[str, ...] = ()
    """Of `Subject`, `Cert`, `Chain`, `DNS` and `URI`."""
    request_id: RequestId | None = None
    requests: HeaderChanges | None = None
    """Before they are routed."""
    answers: HeaderChanges | None = None
    """After everything else."""
    header_kib: int | None = None
    """KiB of all headers of a request."""
    health_path: str = ""
    """Requests for it are answered 200 by Envoy itself."""
    backend_scheme: bool | None = None
    """Backends get the scheme of their own connection as the scheme of requests."""
    request: float | None = None
    request_headers: float | None = None
    idle: float | None = None
    stream_idle: float | None = None
    tls_handshake: float | None = None
    max_connection: float | None = None
    max_stream: float | None = None
    max_requests: int | None = None
    connections: OpenConnections | None = None
    trailers: bool | None = None
    keeps_case: bool = False
    """Names of headers of HTTP/1 stay in upper and lower case."""
    abrupt_end: bool | None = None
    """A connection that has reached its maximum age is closed at once."""
    ignored_upgrades: tuple[ValueMatch, ...] = ()
    stream_window: int | None = None
    connection_window: int | None = None
    max_streams: int | None = None
    ends_stream_only: bool | None = None
    """An invalid HTTP/2 request ends its stream, not the connection."""
    pings: Pings | None = None


@dataclass(frozen=True, slots=True)
class Sockets:
    """How a port accepts connections."""

    keepalive: Keepalive | None = None
    proxy_protocol: ProxyProtocol | None = None
    buffer_limit: int | None = None
    """Bytes."""
    kernel_buffer: int | None = None
    """Bytes."""
    accepts_per_event: int | None = None
    inspection: float | None = None
    """Seconds that Envoy waits for the first bytes of a connection."""
    fingerprints: tuple[str, ...] = ()
    """Of `JA3` and `JA4`."""
    http3: bool = False


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of a port, for all of its hosts."""

    sockets: Sockets
    traffic: ClientTraffic | None = None
    """Only for plain HTTP, where a port has one filter chain."""
