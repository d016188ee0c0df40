"""Guards of routes, applied before the action: who may send requests, how often, from which pages.

For rules that build a `Policies`. They apply whatever the action (a redirect and a direct answer
too), on plain HTTP and behind TLS. What cannot be built must not be left out: such a route gets
`Respond(5xx)` instead. Each may be set on a virtual host and on a route; a route's replaces the
host's of the same kind, and `OFF` removes it. Durations are seconds.
"""

from typing import Final, Literal

from crds.meta import ObjectRef
from crds.records import dataclass
from dag.nodes.access import Access, IpFilter
from dag.nodes.answers import Compressor, ErrorPage, Fault
from dag.nodes.authentication import Authentication
from dag.nodes.limits import (
    GenericKey,
    Limit,
    LocalLimits,
    LocalRateLimit,
    RateLimits,
    RemoteAddress,
)
from dag.nodes.logins import Login
from dag.nodes.texts import ValueMatch
from dag.nodes.tokens import Jwt
from dag.nodes.upstreams import Cluster, ExtensionCluster, LocalCluster

Off = Literal["off"]
OFF: Final = "off"
"""Not on this route, whatever the virtual host says."""


@dataclass(frozen=True, slots=True)
class Cors:
    """CORS headers for browsers; Envoy answers preflights itself.

    An origin that is not allowed gets no `access-control-allow-origin`; its preflights are answered
    too, its other requests are forwarded. Envoy adds no headers to redirects and direct answers
    (browsers then refuse): rules warn there.
    """

    origins: tuple[ValueMatch, ...]
    """`ValueMatch("present")` is any origin; exact ones ignore case; regexes match the whole."""
    methods: tuple[str, ...] = ()
    """`("*",)` allows every method (Gateway API)."""
    headers: tuple[str, ...] = ()
    expose: tuple[str, ...] = ()
    max_age: int | None = None
    """Seconds a preflight may be kept; 0: not at all."""
    credentials: bool = False
    private_network: bool = False

    @property
    def exposed(self) -> tuple[str, ...]:
        """The headers of `expose` that browsers get. With credentials they take `*` for the name of
        a header, so it is left out then."""
        return tuple(it for it in self.expose if not (self.credentials and it == "*"))


@dataclass(frozen=True, slots=True)
class Csrf:
    """Requests that change something must come from pages of the requested host; others get 403."""

    origins: tuple[ValueMatch, ...] = ()
    """Other hosts whose pages may send them, with the port if it is not the default one."""
    enforced: int = 1_000_000
    """For how many of a million requests it is enforced; the others are counted and let through."""


@dataclass(frozen=True, slots=True)
class AuthorizationBody:
    """How much of a request's body the authorization server sees."""

    max_bytes: int = 1024
    allow_partial: bool = False
    """Larger bodies are cut; otherwise answered 413."""
    as_bytes: bool = False


@dataclass(frozen=True, slots=True)
class Authorization:
    """A server decides over each request; unless `fail_open`, a missing answer means 403."""

    cluster: ExtensionCluster | Cluster
    protocol: Literal["http", "grpc"] = "grpc"
    authority: str = ""
    """The authority of gRPC calls; HTTP calls have that of the request."""
    timeout: float | None = None
    """Seconds; with 0 and None there is none, in place of Envoy's 60 s (gRPC) and 0.2 s (HTTP)."""
    fail_open: bool = False
    body: AuthorizationBody | None = None
    context: tuple[tuple[str, str], ...] = ()
    """Sent to gRPC servers, sorted; Envoy cannot combine it with a choice of headers."""
    path_prefix: str = ""
    """Prepended to the path of HTTP calls."""
    request_headers: tuple[ValueMatch, ...] = ()
    """Headers that the server gets: an HTTP server in addition to Host, Method, Path,
    Content-Length and Authorization; a gRPC server gets all if empty."""
    upstream_headers: tuple[ValueMatch, ...] = ()
    """Headers of an HTTP server's answer that go on to the backend."""


@dataclass(frozen=True, slots=True)
class ListenerFilter:
    """A server that decides over each request of a Gateway's listener, before it is routed."""

    name: str
    """Unique on a fleet, of letters, digits, `/`, `.`, `-` and `:`."""
    host: str
    """The host of the listener; `*` for every host."""
    exceptions: tuple[str, ...]
    """Hosts of other listeners within it, whose requests do not pass the filter. Sorted."""
    authorization: Authorization
    origin: ObjectRef
    """The Gateway or ListenerSet that has it."""


@dataclass(frozen=True, slots=True)
class SessionPersistence:
    """Requests of a session go to the endpoint of its first; the cookie or header names it."""

    name: str
    kind: Literal["Cookie", "Header"] = "Cookie"
    lifetime: float | None = None
    """Seconds; a session cookie if None."""
    path: str = "/"


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies of a route or host; None: as the virtual host says, or none at all."""

    cors: Cors | Off | None = None
    csrf: Csrf | Off | None = None
    ip_filter: IpFilter | Off | None = None
    authentication: Authentication | Off | None = None
    login: Login | None = None
    jwt: Jwt | Off | None = None
    authorization: Authorization | Off | None = None
    access: Access | Off | None = None
    local_rate_limit: LocalRateLimit | LocalLimits | Off | None = None
    rate_limits: RateLimits | Off | None = None
    limits: tuple[Limit, ...] | None = None
    """Of RateLimitFilters and BackendTrafficPolicies; only on routes."""
    body_limit: int | Off | None = None
    """Bytes; the request is buffered, and answered 413 beyond it."""
    error_pages: tuple[ErrorPage, ...] | Off | None = None
    session: SessionPersistence | Off | None = None
    fault: Fault | Off | None = None
    compressors: tuple[Compressor, ...] | Off | None = None
    """The preferred one first; in place of the algorithm of the settings."""


# Guards of streams, whose bytes Envoy does not read.


@dataclass(frozen=True, slots=True)
class ConnectionLimit:
    """So many connections per unit of time, for each Envoy; further ones are closed."""

    connections: int
    unit: Literal["second", "minute", "hour"]
    burst: int = 0
    owner: str = ""
    """The object that sets the limit. Hosts with equal streams share a filter chain, and so would
    share the token bucket; those of another owner get a chain of their own."""


@dataclass(frozen=True, slots=True)
class StreamGuards:
    """The guards of a stream. A refused connection is closed without an answer."""

    ip_filter: IpFilter | None = None
    """`Remote` is the client as the PROXY protocol tells it: no header does."""
    limit: ConnectionLimit | None = None
    descriptors: tuple[tuple[GenericKey | RemoteAddress, ...], ...] = ()
    """Sent to the rate limit service for each connection."""


# Guards that hold for every host, from the settings.


@dataclass(frozen=True, slots=True)
class RateLimitService:
    """The server that counts for all Envoys."""

    cluster: ExtensionCluster | LocalCluster
    domain: str = "contour"
    timeout: float | None = None
    """Envoy's 20 ms if None."""
    fail_open: bool = False
    """If False, a missing answer of the service means 500."""
    x_ratelimit_headers: bool = False
    resource_exhausted: bool = False
    """gRPC clients get RESOURCE_EXHAUSTED instead of UNAVAILABLE."""
