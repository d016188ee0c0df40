"""What Envoy should do, in the words of ingress: the answers of the rules.

Every node is a frozen value, complete or absent; two equal nodes lead to identical bytes. A node
holds references (of clusters, of secrets), never the bytes behind them, so that a renewed
certificate changes one secret and not ten thousand hosts. Elsewhere: how Envoy is told
(`contour.envoy`).
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef

# Where traffic arrives.


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


Protocol = Literal["HTTP", "HTTPS"]


@dataclass(frozen=True, slots=True)
class Listener:
    """A port of a fleet that speaks HTTP, with TLS or without."""

    name: str
    protocol: Protocol
    port: int
    """The port that users see."""
    address: str
    bind_port: int
    """The port that Envoy binds."""
    is_exclusive: bool = False
    """No other process may listen on the port as well."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How TLS is terminated for a host; hosts with equal settings share a filter chain."""

    secret: NamespacedName
    minimum: Literal["1.2", "1.3"] = "1.2"
    maximum: Literal["1.2", "1.3"] = "1.3"


# What a request must look like.


@dataclass(frozen=True, slots=True)
class Exact:
    """The whole path."""

    path: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of the path as a string: `/foo` matches `/foobar`."""

    path: str


@dataclass(frozen=True, slots=True)
class Segments:
    """The first elements of the path: `/foo` matches `/foo` and `/foo/bar`, not `/foobar`."""

    path: str
    """Without trailing slash; the prefix of everything is `Prefix("/")`."""


@dataclass(frozen=True, slots=True)
class Regex:
    """An RE2 expression that the whole path must match; it compiled when the node was made."""

    expression: str


Path = Exact | Prefix | Segments | Regex


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """What the value of a header or query parameter must be."""

    operator: Literal["exact", "prefix", "suffix", "contains", "regex", "present"]
    value: str = ""
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class HeaderMatch:
    """A condition on one header; the name is lower case."""

    name: str
    value: ValueMatch
    inverted: bool = False
    missing_as_empty: bool = False


@dataclass(frozen=True, slots=True)
class QueryMatch:
    """A condition on one query parameter; the name is case-sensitive."""

    name: str
    value: ValueMatch


@dataclass(frozen=True, slots=True)
class Match:
    """What a request must look like: every condition holds. Routes with equal ones conflict."""

    path: Path = Prefix("/")
    method: str = ""  # any, if empty
    headers: tuple[HeaderMatch, ...] = ()  # sorted, without duplicates
    queries: tuple[QueryMatch, ...] = ()  # sorted, without duplicates


# What happens to it.


@dataclass(frozen=True, slots=True)
class HeaderPolicy:
    """Headers changed on the way; values are literal text, never a format."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service, by which its endpoints are found."""

    service: NamespacedName
    port: int
    """The Service's port number."""
    port_name: str = ""


@dataclass(frozen=True, slots=True)
class DnsAddress:
    """Where a Service of type ExternalName lives."""

    host: str
    port: int


UpstreamProtocol = Literal["http/1.1", "h2c"]
Balancing = Literal["RoundRobin", "Random", "WeightedLeastRequest"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Service port with the policies that Envoy keeps per cluster: one Envoy cluster each."""

    port: ServicePort
    dns: DnsAddress | None = None  # only of ExternalName Services
    protocol: UpstreamProtocol = "http/1.1"
    balancing: Balancing = "RoundRobin"


@dataclass(frozen=True, slots=True)
class Backend:
    """A share of the traffic of a route. Without a cluster that share is answered 500."""

    cluster: Cluster | None
    weight: int = 1
    request_headers: HeaderPolicy | None = None
    response_headers: HeaderPolicy | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What of the request line changes before it reaches the backend; at most one path change."""

    host: str = ""
    full_path: str | None = None
    prefix: str | None = None  # replaces what the route's path matched


@dataclass(frozen=True, slots=True)
class Retry:
    """When and how often a request is tried again."""

    on: tuple[str, ...]
    attempts: int
    per_try_timeout: float | None = None  # seconds
    status_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Forward:
    """The request goes to one of the backends, chosen by weight."""

    backends: tuple[Backend, ...]
    timeout: float | None = None  # seconds; 0 is without limit, None is Envoy's own
    idle_timeout: float | None = None  # seconds; 0 is without limit, None is Envoy's own
    rewrite: Rewrite | None = None
    retry: Retry | None = None
    websockets: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """The client is sent elsewhere; what is None stays as it was requested."""

    status: int
    scheme: str | None = None
    host: str | None = None
    port: int | None = None
    full_path: str | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Respond:
    """The request is answered here."""

    status: int
    body: str = ""


Action = Forward | Redirect | Respond


@dataclass(frozen=True, slots=True)
class Route:
    """One entry of a virtual host."""

    match: Match
    action: Action
    origin: ObjectRef
    """The object that asked for it, and is told when Envoy refuses it."""
    request_headers: HeaderPolicy | None = None
    response_headers: HeaderPolicy | None = None


@dataclass(frozen=True, slots=True)
class VirtualHost:
    """Everything that happens to requests for one name on one listener."""

    host: str
    routes: tuple[Route, ...]  # in the order in which Envoy tries them
    origins: tuple[ObjectRef, ...] = ()
    """Every object that has a say in this host, sorted."""


@dataclass(frozen=True, slots=True)
class SecureHost:
    """How TLS connections for one name are terminated; `*` is every other or no name."""

    tls: Tls
    origins: tuple[ObjectRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """What one API wants for a host: routes on plain HTTP, routes behind TLS, and the TLS."""

    plain: tuple[Route, ...] = ()
    secure: tuple[Route, ...] = ()
    tls: Tls | None = None
    origins: tuple[ObjectRef, ...] = ()
    is_closed: bool = False
    """A field guards the host that is not served yet: no API may open it."""


# Where it goes.


class Endpoint(NamedTuple):
    """An address that takes connections."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The ready endpoints of a Service port, sorted; perhaps none."""

    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Secret:
    """A certificate chain and its key, both PEM, checked to belong together."""

    chain: bytes
    key: bytes = field(repr=False)
