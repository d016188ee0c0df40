"""The login of a SecurityPolicy (OpenID Connect): users log in at a provider before they may pass.

The fields and limits are those of Envoy Gateway 1.9. What needs parsing is checked by the rules.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.envoygateway.opaque import Opaque
from crds.envoygateway.policycredentials import SecretReference
from crds.envoygateway.policyservers import PolicyBackend
from crds.fields import Flag, GatewayDuration, Natural32, NonEmpty, SameSite
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_LEFT = Unserved()

HeaderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", min_length=1, max_length=256),
]


@model
class LoginBackOff:
    """The time between two attempts."""

    base_interval: GatewayDuration | None = None
    """The time before the first further attempt, at least 1ms. It grows with each one."""
    max_interval: GatewayDuration | None = None
    """The longest time between two attempts. The default is ten times `baseInterval`."""


@model
class LoginAttempt:
    """What holds for each attempt."""

    back_off: LoginBackOff | None = None
    """The time between two attempts."""
    timeout: Annotated[GatewayDuration | None, _LEFT] = None
    """The time that an attempt may take."""


@model
class LoginRetryOn:
    """The answers after which the token endpoint is asked again."""

    triggers: tuple[
        Literal[
            "5xx", "gateway-error", "reset", "reset-before-request", "connect-failure",
            "retriable-4xx", "refused-stream", "retriable-status-codes", "cancelled",
            "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
        ],
        ...,
    ] = ()  # fmt: skip
    """What counts as a failure, in the words of Envoy, such as `5xx` or `reset`."""
    http_status_codes: Annotated[
        tuple[Annotated[int, Field(ge=100, le=599)], ...], Unserved(instead="use triggers")
    ] = ()
    """Status codes of answers after which it is asked again."""


@model
class LoginRetry:
    """How often the token endpoint is asked again."""

    num_attempts_per_priority: Annotated[int | None, _LEFT] = None
    """The attempts at servers of one priority."""
    num_retries: Natural32 = 2
    """The number of further attempts. The default is `2`."""
    per_retry: LoginAttempt | None = None
    """What holds for each attempt."""
    retry_on: LoginRetryOn | None = None
    """The answers after which the token endpoint is asked again. Without it: answers 5xx, and
    connections that fail."""


@model
class LoginBackendSettings:
    """How the token endpoint is asked."""

    retry: LoginRetry | None = None
    """How often it is asked again. Without it, it is asked once."""
    circuit_breaker: Annotated[Opaque | None, _LEFT] = None
    """What may be open towards it at once."""
    connection: Annotated[Opaque | None, _LEFT] = None
    """How much of a connection to it is buffered."""
    dns: Annotated[Opaque | None, _LEFT] = None
    """How its name is resolved."""
    health_check: Annotated[Opaque | None, _LEFT] = None
    """Which of its servers are asked."""
    http2: Annotated[Opaque | None, _LEFT] = None
    """How HTTP/2 is spoken to it."""
    load_balancer: Annotated[Opaque | None, _LEFT] = None
    """How requests are spread over its servers."""
    proxy_protocol: Annotated[Opaque | None, _LEFT] = None
    """The PROXY protocol."""
    tcp_keepalive: Annotated[Opaque | None, _LEFT] = None
    """How dead connections to it are noticed."""
    timeout: Annotated[Opaque | None, _LEFT] = None
    """How long it has to answer. It is 10 seconds."""


@model
class LoginProvider:
    """The OpenID provider that clients log in at, and where its endpoints are."""

    issuer: NonEmpty
    """The `https` URI by which the provider names itself, such as `https://accounts.example.com`.
    Endpoints that are not set here are read from its discovery document."""
    authorization_endpoint: str | None = None
    """The URL to which browsers are sent to log in."""
    token_endpoint: str | None = None
    """The URL at which Envoy exchanges the code of a login for tokens. It must be `https`, unless
    `backendRefs` name the server."""
    end_session_endpoint: str | None = None
    """The URL to which browsers are sent after a logout, to log out of the provider, too."""
    backend_ref: Annotated[Opaque | None, Unserved(guards=True, instead="use backendRefs")] = None
    """The server of the token endpoint. Use `backendRefs` instead."""
    backend_refs: tuple[PolicyBackend, ...] = Field(default=(), max_length=16)
    """The server of the token endpoint, if its host is not to be looked up: one port of a Service.
    More than one are not served, and close the routes."""
    backend_settings: LoginBackendSettings | None = None
    """How the token endpoint is asked."""
    _refs = rule(
        "BackendRefs must be used, backendRef is not supported.",
        lambda it: it.backend_ref is None,
        "!has(self.backendRef)",
    )


@model
class LoginCookieNames:
    """The names of the cookies that keep a login."""

    access_token: str | None = None
    """The name of the cookie with the access token. The default is `AccessToken-` and a suffix of
    the policy."""
    id_token: str | None = None
    """The name of the cookie with the ID token. The default is `IdToken-` and a suffix of the
    policy."""


@model
class LoginCookieConfig:
    """Attributes of cookies."""

    same_site: SameSite | None = None
    """Whether browsers send the cookies with requests of other sites. With `Strict` the two that
    are only for the time of a login are `Lax`, since the provider's page sends browsers back."""


@model
class DenyRedirectHeader:
    """A header of a request, and its value."""

    name: NonEmpty
    """The name of the header, compared without case."""
    type: Annotated[str, Known("Exact", "Prefix", "Suffix", "RegularExpression")] = "Exact"
    """How the value is compared: `Exact`, `Prefix`, `Suffix` or `RegularExpression`. The default is
    `Exact`."""
    value: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """The value, or a part of it."""


@model
class DenyRedirect:
    """Requests that are answered 401 in place of a redirect."""

    headers: tuple[DenyRedirectHeader, ...] = Field(min_length=1, max_length=16)
    """Headers of such requests. One of them is enough."""


@model
class ForwardedIDToken:
    """A header for the ID token."""

    header: HeaderName
    """The name of the header. With `Authorization` the token stands behind `Bearer `."""
    _host = rule(
        "header cannot be the Host header",
        lambda it: it.header.lower() != "host",
        "self.header.lowerAscii() != 'host'",
    )


@model
class PolicyLogin:
    """Users log in at an OpenID provider, and have the tokens of their login in cookies."""

    provider: LoginProvider
    """The OpenID provider that clients log in at, and where its endpoints are."""
    client_id: NonEmpty | None = Field(default=None, validation_alias="clientID")
    """The ID of the client that the provider knows. Exactly one of `clientID` and `clientIDRef`
    must be set."""
    client_id_ref: SecretReference | None = Field(default=None, validation_alias="clientIDRef")
    """The Secret whose entry `client-id` has the ID of the client."""
    client_secret: SecretReference
    """The Secret whose entry `client-secret` has the secret of the client. The key with which
    cookies are signed is derived from it: a new secret ends every login."""
    cookie_names: LoginCookieNames | None = None
    """The names of the cookies that keep a login."""
    cookie_config: LoginCookieConfig | None = None
    """Attributes of the cookies."""
    cookie_domain: Annotated[
        str | None,
        StringConstraints(
            pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
        ),
    ] = None
    """The domain whose hosts get the cookies. The default is the host of the request alone."""
    scopes: tuple[str, ...] = ()
    """What the tokens are to be for. `openid` is always among them."""
    resources: tuple[str, ...] = ()
    """The resources that the tokens are to be for."""
    redirect_url: str | None = Field(default=None, validation_alias="redirectURL")
    """The URL to which the provider sends browsers back. Its path must lead to a route of the
    policy. The default is `%REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/callback`."""
    deny_redirect: DenyRedirect | None = None
    """Requests that are answered 401 in place of a redirect to the provider."""
    logout_path: str | None = None
    """The path that ends a login. It must lead to a route of the policy. The default is
    `/logout`."""
    forward_access_token: Flag | None = None
    """Whether the backend gets the access token as `Authorization: Bearer`. The default is
    `false`."""
    forward_id_token: ForwardedIDToken | None = Field(
        default=None, validation_alias="forwardIDToken"
    )
    """The header in which the backend gets the ID token; none if absent."""
    default_token_ttl: GatewayDuration | None = Field(
        default=None, validation_alias="defaultTokenTTL"
    )
    """How long a login lasts of whose tokens the provider does not say it. Without it, such a login
    fails."""
    refresh_token: Flag = True
    """Whether tokens are renewed by the refresh token when they end. The default is `true`."""
    default_refresh_token_ttl: GatewayDuration | None = Field(
        default=None, validation_alias="defaultRefreshTokenTTL"
    )
    """How long a refresh token lasts that does not say it. The default is `604800s`."""
    csrf_token_ttl: GatewayDuration | None = Field(default=None, validation_alias="csrfTokenTTL")
    """The time that a user has to log in. The default is `10m`."""
    disable_token_encryption: Flag | None = None
    """Whether the cookies have the tokens as they are. The default is `false`: they are
    encrypted."""
    pass_through_auth_header: Flag | None = None
    """Whether requests pass without a login that have a header with a token for `jwt`, which must
    be set then and verifies it. The default is `false`."""
    _client = rule(
        "only one of clientID or clientIDRef must be set",
        lambda it: (it.client_id is None) != (it.client_id_ref is None),
        "(has(self.clientID) && !has(self.clientIDRef)) ||"
        " (!has(self.clientID) && has(self.clientIDRef))",
    )
    _forwarded = rule(
        "forwardAccessToken cannot be true when forwardIDToken.header is Authorization",
        lambda it: (
            not (
                it.forward_access_token
                and it.forward_id_token is not None
                and it.forward_id_token.header.lower() == "authorization"
            )
        ),
        "!(has(self.forwardAccessToken) && self.forwardAccessToken && has(self.forwardIDToken)"
        " && self.forwardIDToken.header.lowerAscii() == 'authorization')",
    )
