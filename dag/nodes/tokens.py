"""Token (JWT) providers: the issuers whose tokens requests need, and the keys that verify them.

Durations are seconds.
"""

from typing import Literal

from crds.meta import ObjectRef
from crds.records import dataclass
from dag.nodes.upstreams import UpstreamTls


@dataclass(frozen=True, slots=True)
class RemoteJwks:
    """A server that has a key set, and how the control plane asks it. Equal ones are asked once."""

    uri: str
    tls: UpstreamTls | None = None
    """TLS; set if and only if the URI is https. With `system` and without `names` the certificate
    has to be for the host of the URI."""
    timeout: float = 1.0
    refresh: float | None = None
    """Seconds after which the key set is fetched again; None: the default."""
    family: Literal["auto", "v4", "v6"] | None = None
    """The addresses of the server that may be asked; None: any."""


@dataclass(frozen=True, slots=True)
class LocalJwks:
    """Keys from a Secret, as JSON that was parsed before."""

    text: str


@dataclass(frozen=True, slots=True)
class StoredJwks:
    """Keys in a ConfigMap or Secret; they are read when Envoy's configuration is made, so new keys
    change no provider."""

    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class TokenSources:
    """The places in requests that may have a token."""

    headers: tuple[tuple[str, str], ...] = ()
    """Header names, each with the prefix of the token in the value."""
    cookies: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    """Names of query parameters."""


@dataclass(frozen=True, slots=True)
class JwtProvider:
    """An issuer of tokens. Routes name it (`Jwt`); Envoy gets all providers of a fleet in one
    piece.

    A change of its content changes no route. A provider that cannot be built is left out: requests
    to routes that name it get 403.
    """

    name: str
    """Unique in the fleet: `namespace/httpproxy/provider`."""
    jwks: RemoteJwks | LocalJwks | StoredJwks
    issuer: str = ""
    """Any, if empty."""
    audiences: tuple[str, ...] = ()
    """One of them must be in the token; not looked at if empty."""
    forward: bool = False
    """The token goes on to the backend."""
    claim_headers: tuple[tuple[str, str], ...] = ()
    """Claims (`a.b` for nested ones) that become request headers: claim, header."""
    origins: tuple[ObjectRef, ...] = ()
    """The object whose status says so if Envoy refuses it."""
    sources: TokenSources | None = None
    """`Authorization: Bearer` and the query parameter `access_token` if None."""
    is_rerouting: bool = False
    """The route is chosen anew once the token is verified."""
    payload: str = ""
    """The key under which claims are kept for `Claims`; they are not kept if empty."""


Leniency = Literal["none", "missing", "failed"]
"""Which requests pass without a valid token: none, those without a token, or all."""


@dataclass(frozen=True, slots=True)
class Jwt:
    """A valid token of this provider is required; others are answered 401 or 403."""

    provider: str
    """The name of a `JwtProvider` in `VirtualHost.jwt_providers` of any host of the fleet."""
    source: ObjectRef | None = None
    """Instead of one provider any of those of this AuthenticationFilter or SecurityPolicy;
    `provider` is its name."""
    leniency: Leniency = "none"
    """Of a SecurityPolicy."""
