"""Where requests go: clusters, and the policies that Envoy keeps per cluster.

One Envoy cluster for each Service port and set of policies, so two equal nodes are one cluster.
Durations are seconds. None means Envoy's own default, or what the settings say (`Upstreams`).
"""

from dataclasses import field, fields
from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag.nodes.clients import Keepalive, Pings
from dag.nodes.injections import Injection

LookupFamily = Literal["IPv4", "IPv6", "IPv4Preferred", "IPv6Preferred", "IPv4AndIPv6"]
TlsVersion = Literal["1.2", "1.3"]
TLS_VERSIONS: tuple[TlsVersion, ...] = ("1.2", "1.3")


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service, by which its endpoints are found; or that of an XBackend or Backend, or
    of a server that a SecurityPolicy names by a URL."""

    service: NamespacedName
    port: int
    """The Service's port number."""
    port_name: str = ""
    kind: Literal["Service", "XBackend", "Backend", "SecurityPolicy"] = field(
        default="Service", repr=False
    )
    """Not in the `repr`: names of resources are made from it, and must not change."""

    @property
    def owner(self) -> ObjectRef:
        """The Service, XBackend, Backend or SecurityPolicy."""
        return ObjectRef(self.kind, *self.service)


@dataclass(frozen=True, slots=True)
class DnsAddress:
    """A name that Envoy resolves: of a Service of type ExternalName, an XBackend, a JWKS server."""

    host: str
    port: int


class Trust(NamedTuple):
    """Where trusted authorities are read from; `dag.references.trust` reads them."""

    authorities: tuple[ObjectRef, ...] = ()
    """Secrets or ConfigMaps with `ca.crt`, sorted; all of them are trusted."""
    revocations: NamespacedName | None = None
    """A Secret with `crl.pem`; a connection with what it revokes is refused."""
    lists: tuple[ObjectRef, ...] = ()
    """Secrets or ConfigMaps with `ca.crl`, sorted, to the same effect."""


@dataclass(frozen=True, slots=True)
class TrustBundle:
    """Certificates of authorities, and revocations, both PEM and parsed before."""

    authorities: bytes
    revocations: bytes = b""


class AlternativeName(NamedTuple):
    """A name that must be in a certificate: exact, or a wildcard in its first label."""

    kind: Literal["DNS", "URI"]
    value: str


@dataclass(frozen=True, slots=True)
class UpstreamTls:
    """TLS towards a backend.

    Without `trust` and `system` the certificate is not checked (as the user asked: HTTPProxy
    without `validation`). With either, a bundle that is missing refuses every connection.
    """

    trust: Trust | None = None
    system: bool = False
    """The authorities of Envoy's machine are trusted (`wellKnownCACertificates: System`)."""
    names: tuple[AlternativeName, ...] = ()
    """One of them must be in the certificate; any certificate of the authorities, if empty."""
    sni: str = ""
    """The server name (SNI); none if empty."""
    sni_of: Literal["", "request", "endpoint"] = ""
    """Whose name is the server name instead; a checked certificate must have it."""
    client_certificate: NamespacedName | None = None
    minimum: TlsVersion | None = None
    maximum: TlsVersion | None = None
    ciphers: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    """What ALPN offers for a stream; for requests it follows from the protocol."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Active checks: an endpoint that fails them gets no requests."""

    path: str = ""
    """The path of HTTP checks; if empty, a TCP connection must open, or gRPC must answer."""
    host: str = ""
    interval: float = 10.0
    timeout: float = 2.0
    unhealthy_threshold: int = 3
    healthy_threshold: int = 2
    statuses: tuple[tuple[int, int], ...] = ()
    """Ranges of healthy answers, the end not included; 200 if empty."""
    retriable: tuple[tuple[int, int], ...] = ()
    """Ranges of answers that count as one failed check; every other one is one at once."""
    method: str = ""
    """`GET`, if empty."""
    jitter: float | None = None
    """The jitter of the first check, in seconds."""
    sent: bytes = b""
    """The body of the request, or what is sent on the TCP connection."""
    expected: bytes = b""
    """What the answer must contain; anything if empty."""
    grpc_service: str | None = None
    """The service of gRPC health checks, `""` for the whole server; None: no gRPC."""


@dataclass(frozen=True, slots=True)
class OutlierDetection:
    """Passive checks: an endpoint whose answers are errors is left out for a while."""

    consecutive_5xx: int | None = None
    consecutive_gateway_errors: int | None = None
    interval: float | None = None
    ejection_time: float | None = None
    max_ejection_time: float | None = None
    max_ejection_percent: int | None = None
    local_failures: int | None = None
    """Failed connections in a row; if set, they are counted apart from answers."""
    failure_percent: int | None = None
    """Errors among the answers of an endpoint."""
    ejects_one: bool = False
    """One endpoint may be left out whatever the share is."""


@dataclass(frozen=True, slots=True)
class Http2:
    """How HTTP/2 is spoken to a backend; it has no effect on one that does not speak it."""

    stream_window: int | None = None
    """Bytes that a backend may send ahead of an answer; None as in the settings (`Upstreams`)."""
    connection_window: int | None = None
    max_streams: int | None = None
    """Requests on a connection at a time; what the backend says, if None."""
    ends_stream_only: bool | None = None
    """Whether an invalid answer ends its stream, not the connection."""
    pings: Pings | None = None


class Preconnect(NamedTuple):
    """Connections that are opened ahead, as a multiple of those that are needed."""

    per_endpoint: float | None = None
    predictive: float | None = None


class DnsSettings(NamedTuple):
    """How the name of a cluster is resolved."""

    refresh: float | None = None
    """Seconds after which it is resolved again."""
    by_ttl: bool = False
    """It is resolved again when its record expires."""
    family: LookupFamily | None = None


@dataclass(frozen=True, slots=True)
class Connections:
    """How connections to a backend are opened, kept, and closed."""

    keepalive: Keepalive | None = None
    buffer_limit: int | None = None
    """Bytes that are buffered for each; None as in the settings (`Upstreams`)."""
    max_requests: int | None = None
    """Requests that each may carry; 0 is without limit, None as in the settings (`Upstreams`)."""
    max_age: float | None = None
    max_stream: float | None = None
    """How long a request and its answer may take."""
    preconnect: Preconnect | None = None
    proxy_protocol: Literal["V1", "V2"] | None = None
    http2: Http2 | None = None
    dns: DnsSettings | None = None
    """DNS settings, for a cluster with a name."""
    kernel_buffer: int | None = None
    """Bytes that the kernel buffers for each, in either direction."""
    follows_client: bool = False
    """The HTTP version is that of the client."""
    keeps_case: bool = False
    """Names of headers of HTTP/1 stay in upper and lower case."""


@dataclass(frozen=True, slots=True)
class SlowStart:
    """A new endpoint gets its share little by little, over `window` seconds."""

    window: float
    aggression: float = 1.0
    min_weight_percent: int = 10


@dataclass(frozen=True, slots=True)
class CircuitBreakers:
    """What may be open towards a cluster at once, per Envoy; beyond it a request is refused."""

    connections: int | None = None
    pending_requests: int | None = None
    requests: int | None = None
    retries: int | None = None
    connections_per_host: int | None = None

    def over(self, default: "CircuitBreakers | None") -> "CircuitBreakers":
        """These limits, and those of the default where there is none of these."""
        if default is None:
            return self
        said = {it.name: getattr(self, it.name) for it in fields(self)}
        return replace(default, **{name: it for name, it in said.items() if it is not None})


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """How many retries towards a cluster may be under way at once, per Envoy; replaces the number
    of `CircuitBreakers`."""

    percent: float
    """The share of the requests that may be retries, from 0 to 100."""
    interval: float | None = None
    """Seconds for which a request counts; None: while it is active. Older Envoys than 1.39 know
    only that."""
    always: int = 3
    """Retries that may be under way however few requests count."""

    def joined(self, other: "RetryBudget") -> "RetryBudget":
        """The smaller of both in each respect."""
        lasting = [it for it in (self.interval, other.interval) if it is not None]
        return RetryBudget(
            min(self.percent, other.percent),
            min(lasting) if len(lasting) == 2 else None,
            min(self.always, other.always),
        )


UpstreamProtocol = Literal["http/1.1", "h2c", "h2", "tls"]
"""`h2` and `tls` speak HTTP/2 and HTTP/1.1 over TLS."""
Balancing = Literal["RoundRobin", "Random", "WeightedLeastRequest", "RingHash", "Maglev"]
"""The last two need hash policies on the routes."""


class Endpoint(NamedTuple):
    """An address that takes connections."""

    address: str
    """An IP address, a name where DNS is asked, or the absolute path of a Unix socket."""
    port: int
    """0 for a socket."""
    hostname: str = ""
    """The name by which TLS asks for it; its name in DNS, if empty."""

    @property
    def shown(self) -> str:
        """As people read it."""
        return f"{self.address}:{self.port}" if self.port else self.address


class Member(NamedTuple):
    """One of the backends that a cluster is made of: a locality of its endpoints."""

    port: ServicePort
    names: tuple[Endpoint, ...] = ()
    """Names for Envoy to resolve, and addresses beside them; if empty, the port's endpoints."""
    weight: int = 1
    """0: it gets only requests of sessions that are with it."""
    is_fallback: bool = False
    """It gets requests only while too few endpoints of the others are healthy."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Service port with the policies that Envoy keeps per cluster: one Envoy cluster each."""

    port: ServicePort
    dns: DnsAddress | None = None  # only of ExternalName Services, XBackends and Backends
    protocol: UpstreamProtocol = "http/1.1"
    balancing: Balancing = "RoundRobin"
    tls: UpstreamTls | None = None
    """How TLS is spoken; with `h2` and `tls` and without this, unverified."""
    health_check: HealthCheck | None = None
    health_port: int | ServicePort | None = None
    """The port that checks go to: a number, or where endpoints of another Service port listen; the
    endpoint's own, if None."""
    outliers: OutlierDetection | None = None
    slow_start: SlowStart | None = None
    limits: CircuitBreakers | None = None
    retry_budget: RetryBudget | None = None
    idle_timeout: float | None = None
    """How long a connection may idle; 0 is without limit."""
    connect_timeout: float | None = None
    prefers_http2: bool = False
    """With TLS: HTTP/2 if the backend offers it, HTTP/1.1 otherwise."""
    panic_percent: int = 0
    """The share of healthy endpoints below which sick ones get requests, too."""
    connections: Connections | None = None
    table_size: int | None = None
    """Entries of the table of `Maglev`, a prime; Envoy's 65537 if None."""
    members: tuple[Member, ...] = ()
    """The backends of a cluster with several of them, or with several names. If `dns` is set, it is
    the first name and every member has names; otherwise none has. `port` is that of the first
    member."""
    injection: Injection | None = None
    """The credential that its requests get."""
    dropped: int | None = None
    """The weight, beside its members, of datagrams that are dropped; those for a member without
    endpoints are dropped, too. None, as beside fallbacks: the other members get these."""

    @property
    def names(self) -> tuple[Endpoint, ...]:
        """The names that Envoy resolves; empty if it gets endpoints."""
        if self.dns is None:
            return ()
        named = tuple(name for it in self.members for name in it.names)
        return named or (Endpoint(self.dns.host, self.dns.port),)


class WeightedPort(NamedTuple):
    """A Service port of an ExtensionService, and its weight."""

    port: ServicePort
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ExtensionCluster:
    """A service that Envoy itself asks (an ExtensionService): one cluster over several Services."""

    name: NamespacedName
    services: tuple[WeightedPort, ...]
    protocol: UpstreamProtocol = "h2"
    balancing: Balancing = "RoundRobin"
    tls: UpstreamTls | None = None
    limits: CircuitBreakers | None = None
    idle_timeout: float | None = None
    connect_timeout: float | None = None
    has_trailers: bool = False
    """Whether responses over HTTP/1.1 may end with trailers, as those of gRPC do."""


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A process on Envoy's machine that takes gRPC calls over HTTP/1.1, on a Unix socket."""

    path: str


AnyCluster = Cluster | ExtensionCluster | LocalCluster


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The ready endpoints of a Service port, sorted, or those of a Backend; perhaps none."""

    endpoints: tuple[Endpoint, ...] = ()
    left_out: str = ""
    """The addresses that are left out whatever their state, for people; empty if there are none."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A certificate chain and its key, both PEM, checked to belong together."""

    chain: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Upstreams:
    """What holds for every cluster that does not say otherwise: from the settings."""

    max_requests_per_connection: int | None = None
    buffer_limit: int | None = None
    """Bytes buffered per connection; the edge guide's 32 KiB if None."""
    stream_window: int | None = None
    """Bytes that an HTTP/2 backend may send ahead of an answer; Envoy's own if None."""
    connection_window: int | None = None
    """The same of all answers of a connection."""
    limits: CircuitBreakers | None = None
    minimum: TlsVersion = "1.2"
    maximum: TlsVersion = "1.3"
    ciphers: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    client_certificate: NamespacedName | None = None
    """Shown to backends that ask for one, if a cluster names no other."""
