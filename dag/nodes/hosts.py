"""What happens to requests: virtual hosts, their routes, and the actions of these."""

from dataclasses import field
from typing import Literal, NamedTuple

from crds.fields import SameSite
from crds.meta import ObjectRef
from crds.records import dataclass
from dag.nodes.guards import Policies, SessionPersistence
from dag.nodes.hooks import ForeignKey
from dag.nodes.listeners import SecureHost, Tls
from dag.nodes.matches import Match
from dag.nodes.texts import HeaderPolicy, Value
from dag.nodes.tokens import JwtProvider
from dag.nodes.upstreams import Cluster


@dataclass(frozen=True, slots=True)
class CookieRewrite:
    """Attributes of a cookie that a backend sets; None leaves one as it is."""

    name: str
    path: str | None = None
    domain: str | None = None
    secure: bool | None = None
    same_site: SameSite | None = None


@dataclass(frozen=True, slots=True)
class Backend:
    """A share of the traffic of a route. Without a cluster that share is answered `missing`."""

    cluster: Cluster | None
    weight: int = 1
    request_headers: HeaderPolicy | None = None
    response_headers: HeaderPolicy | None = None
    host: str = ""
    """The new host of requests, for this share only."""
    cookies: tuple[CookieRewrite, ...] = ()
    """The changes of headers, applied before those of the route."""
    session: SessionPersistence | None = None
    """Requests of a session that come to this share go to one endpoint."""


class Substitution(NamedTuple):
    """An RE2 expression, and what replaces each part of a path that it matches."""

    pattern: str
    text: str
    """`\\1` is the first group, `\\0` the whole match, `\\\\` a backslash."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Changes of the request line for the backend: at most one of the host, and one of the path."""

    host: str = ""
    full_path: str | None = None
    prefix: str | None = None  # replaces what the route's path matched
    host_header: str = ""
    """The host becomes the value of this request header."""
    host_from_path: Substitution | None = None
    """The host becomes the path after this substitution."""
    host_of_endpoint: bool = False
    """The host becomes the name of the endpoint, where it has one."""
    tells_host: bool = False
    """The original host is appended to `X-Forwarded-Host` where another one replaces it."""
    path: Substitution | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """When and how often a request is retried."""

    on: tuple[str, ...]
    attempts: int
    """The number of retries; 0: none, whatever a policy says."""
    per_try_timeout: float | None = None  # seconds
    status_codes: tuple[int, ...] = ()
    backoff: float | None = None
    """Seconds before the first retry, doubled for each further one."""
    max_backoff: float | None = None
    """Ten times `backoff` if None."""
    per_priority: int | None = None
    """Tries that go to endpoints of one priority before those of another one get any."""


class Mirror(NamedTuple):
    """Copies of requests go there; the answers are thrown away."""

    cluster: Cluster
    numerator: int = 100
    denominator: int = 100
    """The share of requests that are copied; any positive number."""


@dataclass(frozen=True, slots=True)
class HashPolicy:
    """What decides which endpoint gets a request (clusters with `RingHash` or `Maglev`)."""

    source: Literal["Cookie", "Header", "Query", "SourceIp"]
    name: str = ""
    """The name of the cookie, header (lower case) or query parameter."""
    ttl: float | None = None
    """Of cookies: Envoy sets one that lives so many seconds; 0: for the browser's session."""
    path: str = ""
    """Of cookies."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Further ones of the cookie that Envoy sets, sorted."""
    is_terminal: bool = False
    """If it yields a value, the ones after it do not count."""


@dataclass(frozen=True, slots=True)
class InternalRedirect:
    """Redirects by backends are followed here."""

    max_redirects: int = 1
    codes: tuple[int, ...] = ()
    """302 if empty."""
    cross_scheme: Literal["Always", "Never", "SafeOnly"] = "Never"
    deny_repeated_route: bool = False


@dataclass(frozen=True, slots=True)
class Forward:
    """The request goes to one of the backends, chosen by weight."""

    backends: tuple[Backend, ...]
    timeout: float | None = None  # seconds; 0 is without limit, None is Envoy's own
    idle_timeout: float | None = None  # seconds; 0 is without limit, None is Envoy's own
    rewrite: Rewrite | None = None
    retry: Retry | None = None
    websockets: bool = False
    mirrors: tuple[Mirror, ...] = ()
    hash_policies: tuple[HashPolicy, ...] = ()
    internal_redirect: InternalRedirect | None = None
    cookies: tuple[CookieRewrite, ...] = ()
    missing: int = 500
    """The status of requests whose share has no cluster; 503 is UNAVAILABLE to gRPC clients."""
    try_timeout: float | None = None
    """Seconds for each try of an HTTPRoute, until it is known whether there are retries; 0 is
    without limit. None in what Envoy gets."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect; parts that are None stay as they were requested."""

    status: int
    scheme: str | None = None
    host: str | None = None
    port: int | None = None
    full_path: str | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Respond:
    """A direct response by Envoy."""

    status: int
    body: Value = ""
    headers: HeaderPolicy | None = None
    """Changes of the headers of the answer, before those of the route."""


Action = Forward | Redirect | Respond


@dataclass(frozen=True, slots=True)
class Route:
    """One entry of a virtual host."""

    match: Match
    action: Action
    origin: ObjectRef
    """The object that asked for it, whose status says so if Envoy refuses it."""
    request_headers: HeaderPolicy | None = None
    response_headers: HeaderPolicy | None = None
    policies: Policies | None = None
    extensions: tuple[ForeignKey, ...] = ()
    """Objects of kinds of extensions that its rule refers to, in their order."""
    attached: tuple[ObjectRef, ...] = ()
    """The policies that apply to it: of each kind one, or two that are merged, the nearer first."""
    rule: str = ""
    """The identity of the origin's rule: requests of all routes of a rule are counted together."""
    section: str = field(default="", repr=False)
    """The name by which policies know that rule; empty if it has none."""


class ServerNames(NamedTuple):
    """The server names of TLS connections that may carry requests for a host; others get 421.

    The pattern and its exceptions are hosts as in `HostKey`: those of a Gateway's listener, and
    of the narrower ones beside it on the port.
    """

    pattern: str
    exceptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VirtualHost:
    """Everything that happens to requests for one name on one listener."""

    host: str
    routes: tuple[Route, ...]  # in the order in which Envoy tries them
    origins: tuple[ObjectRef, ...] = ()
    """Every object that contributes to this host, sorted."""
    policies: Policies | None = None
    """For every route that does not say otherwise; what no route takes gets 404, unguarded."""
    jwt_providers: tuple[JwtProvider, ...] = ()
    """The providers that its routes name, sorted by name."""
    is_fallback: bool = False
    """Served too to TLS clients that name no host we know (fallback certificate)."""
    server_names: ServerNames | None = None
    """None: behind TLS the server name must be the host itself."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one API asks for a host: routes on plain HTTP, routes behind TLS, and the TLS."""

    plain: tuple[Route, ...] = ()
    secure: tuple[Route, ...] = ()
    tls: Tls | None = None
    origins: tuple[ObjectRef, ...] = ()
    is_closed: bool = False
    """A guard of the host is not served: no API may open it."""
    is_exempt: bool = False
    """The authorization service of the configuration is not asked about routes of HTTPProxy: the
    host opts out, or names one of its own."""
    lacks_tokens: bool = False
    """The host requires tokens that cannot be verified: routes that do not say otherwise are
    closed. Those of HTTPProxy are already."""
    host: SecureHost | None = None
    """How TLS connections are handled where `tls` cannot say it: streams, passthrough."""
    policies: Policies | None = None
    jwt_providers: tuple[JwtProvider, ...] = ()
    is_fallback: bool = False
    is_bare: bool = False
    """Its author writes routes, and none of them can be served: the host exists without."""
    asks_for_tls: bool = False
    """Its author wants TLS, whether it can be served or not."""
