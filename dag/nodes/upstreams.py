"""Where requests go: clusters, and the policies that Envoy keeps per cluster.

One Envoy cluster for each Service port and set of policies, so two equal nodes are one cluster.
Durations are seconds. None means Envoy's own default, or what the settings say (`Upstreams`).
"""

from dataclasses import field
from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass

TlsVersion = Literal["1.2", "1.3"]
TLS_VERSIONS: tuple[TlsVersion, ...] = ("1.2", "1.3")


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service, by which its endpoints are found; or that of an XBackend."""

    service: NamespacedName
    port: int
    """The Service's port number."""
    port_name: str = ""
    kind: Literal["Service", "XBackend"] = field(default="Service", repr=False)
    """Not in the representation: names of resources are made from that, and are to stay."""

    @property
    def owner(self) -> ObjectRef:
        """The Service or XBackend."""
        return ObjectRef(self.kind, *self.service)


@dataclass(frozen=True, slots=True)
class DnsAddress:
    """A name that Envoy resolves: of a Service of type ExternalName, an XBackend, a JWKS server."""

    host: str
    port: int


class Trust(NamedTuple):
    """Where trusted authorities are read from; the answer: `dag.references.trust`."""

    authorities: tuple[ObjectRef, ...] = ()
    """Secrets or ConfigMaps with `ca.crt`, sorted; all of them are trusted."""
    revocations: NamespacedName | None = None
    """A Secret with `crl.pem`; a connection with what it revokes is refused."""


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
    """The server name asked for; none, if empty."""
    client_certificate: NamespacedName | None = None
    minimum: TlsVersion | None = None
    maximum: TlsVersion | None = None
    ciphers: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Active checks: an endpoint that fails them gets no requests."""

    path: str = ""
    """Asked for by HTTP; if empty, a TCP connection must open."""
    host: str = ""
    interval: float = 10.0
    timeout: float = 2.0
    unhealthy_threshold: int = 3
    healthy_threshold: int = 2
    statuses: tuple[tuple[int, int], ...] = ()
    """Ranges of healthy answers, the end not included; 200 if empty."""


@dataclass(frozen=True, slots=True)
class OutlierDetection:
    """Passive checks: an endpoint whose answers are errors is left out for a while."""

    consecutive_5xx: int | None = None
    consecutive_gateway_errors: int | None = None
    interval: float | None = None
    ejection_time: float | None = None
    max_ejection_time: float | None = None
    max_ejection_percent: int | None = None


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
    retry_budget_percent: float | None = None
    """Retries, as a share of the active requests; replaces `retries`."""
    min_retries: int | None = None
    """Retries that the budget always allows."""


UpstreamProtocol = Literal["http/1.1", "h2c", "h2", "tls"]
"""`h2` and `tls` speak HTTP/2 and HTTP/1.1 over TLS."""
Balancing = Literal["RoundRobin", "Random", "WeightedLeastRequest", "RingHash", "Maglev"]
"""The last two need hash policies on the routes."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Service port with the policies that Envoy keeps per cluster: one Envoy cluster each."""

    port: ServicePort
    dns: DnsAddress | None = None  # only of ExternalName Services and XBackends
    protocol: UpstreamProtocol = "http/1.1"
    balancing: Balancing = "RoundRobin"
    tls: UpstreamTls | None = None
    """How TLS is spoken; with `h2` and `tls` and without this, unverified."""
    health_check: HealthCheck | None = None
    health_port: int | None = None
    """The port that checks go to; the endpoint's own, if None."""
    outliers: OutlierDetection | None = None
    slow_start: SlowStart | None = None
    limits: CircuitBreakers | None = None
    idle_timeout: float | None = None
    """How long a connection may idle; 0 is without limit."""
    connect_timeout: float | None = None
    prefers_http2: bool = False
    """With TLS: HTTP/2 if the backend offers it, HTTP/1.1 otherwise."""


class WeightedPort(NamedTuple):
    """A share of the requests of an extension."""

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


class Endpoint(NamedTuple):
    """An address that takes connections."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The ready endpoints of a Service port, sorted; perhaps none."""

    endpoints: tuple[Endpoint, ...] = ()
    left_out: str = ""
    """The addresses that are not among them whatever their state, for people; or empty."""


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
