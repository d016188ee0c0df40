"""Logins at an OpenID provider: its endpoints, and the cookies that hold the tokens.

The client secret and the key that signs cookies (`LoginSecrets`) are separate from what routes
require (`Login`): a new secret changes no route, and no route contains one. Durations are seconds.
"""

from dataclasses import field
from typing import NamedTuple

from crds.fields import SameSite
from crds.meta import ObjectRef
from crds.records import dataclass
from dag.nodes.texts import HeaderMatch
from dag.nodes.upstreams import Cluster, UpstreamTls


@dataclass(frozen=True, slots=True)
class Discovery:
    """An issuer whose discovery document the control plane fetches, and how it is asked."""

    issuer: str
    tls: UpstreamTls
    timeout: float
    refresh: float | None = None
    """Seconds after which it is fetched again; None: the default."""
    family: None = None
    """Any addresses of the server may be asked."""

    @property
    def uri(self) -> str:
        """Where the document is (OpenID Connect Discovery 1.0, section 4)."""
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"


class ProviderEndpoints(NamedTuple):
    """URLs of a provider."""

    authorization: str
    token: str
    end_session: str = ""
    """Where users log out of the provider; nowhere, if empty."""


class LoginCookies(NamedTuple):
    """The names of the cookies of a login."""

    access_token: str
    id_token: str
    refresh_token: str
    expires: str
    hmac: str
    nonce: str
    """For the time of a login."""
    verifier: str
    """For the time of a login (PKCE)."""


class LoginRetry(NamedTuple):
    """When and how often the token endpoint is asked again."""

    on: tuple[str, ...]
    """In the words of Envoy."""
    attempts: int
    backoff: float | None = None
    """Seconds before the first further attempt; None is Envoy's own."""
    max_backoff: float | None = None
    """Ten times `backoff` if None."""


@dataclass(frozen=True, slots=True)
class Login:
    """Requests without a login are sent to the provider, or answered 401.

    While Envoy does not know the secrets of `source`, every request is refused.
    """

    source: ObjectRef
    """The SecurityPolicy; Envoy gets its secrets under that name."""
    client_id: str
    endpoints: ProviderEndpoints
    cluster: Cluster
    """Which Envoy asks for tokens."""
    redirect: str
    """The URL to which the provider sends browsers back, in Envoy's format: its operators are those
    that the rules know."""
    callback: str
    """The path of `redirect`."""
    logout: str
    """The path that ends a login."""
    cookies: LoginCookies
    scopes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    domain: str = ""
    """The domain of the cookies; the host of the request if empty."""
    same_site: SameSite | None = None
    denied: tuple[HeaderMatch, ...] = ()
    """Requests without a login that are answered 401 in place of a redirect: one of them holds."""
    passed: tuple[HeaderMatch, ...] = ()
    """Requests that need no login: one of them holds, and a token in that header is required."""
    forwards_access_token: bool = False
    id_token_header: str = ""
    """In lower case; none if empty."""
    lifetime: float | None = None
    """The lifetime of a login if the provider gives none for its tokens; None: it fails."""
    refreshes: bool = True
    refresh_lifetime: float | None = None
    login_time: float | None = None
    """The time that a user has to log in."""
    is_plain: bool = False
    """The cookies contain the tokens unencrypted."""
    retry: LoginRetry | None = None
    """How often the token endpoint is asked again."""


@dataclass(frozen=True, slots=True)
class LoginSecrets:
    """The secrets that Envoy needs for the logins of a policy."""

    client: bytes = field(repr=False)
    """The client secret, which the provider knows."""
    hmac: bytes = field(repr=False)
    """The key that signs and encrypts the cookies."""
