"""The virtual host of a root HTTPProxy: its name, its certificate, and what guards it."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.authorization import AuthorizationServer
from crds.errorpages import ErrorPage
from crds.fields import HOST_OR_EVERY, TOKEN, DurationOrZero, Flag, NonEmpty, PositiveUint32
from crds.jwt import JWTProvider
from crds.meta import model
from crds.ratelimits import RateLimitPolicy

Fqdn = Annotated[str, StringConstraints(pattern=HOST_OR_EVERY, min_length=1)]
Token = Annotated[str, StringConstraints(pattern=TOKEN)]


@model
class IPFilterPolicy:
    """A range of addresses."""

    source: Literal["Peer", "Remote"]
    """Peer: the other end of the connection. Remote: the client, as trusted proxies tell it."""
    cidr: str
    """The range, such as `10.0.0.0/8`, or one address."""


@model
class CORSPolicy:
    """Which pages of other origins may send requests."""

    allow_credentials: Flag = False
    """With cookies and passwords."""
    allow_origin: tuple[str, ...] = Field(min_length=1)
    """Origins: `*`, scheme and host, or an expression (RE2)."""
    allow_methods: tuple[Token, ...] = Field(min_length=1)
    """Methods they may use."""
    allow_headers: tuple[Token, ...] = Field(default=(), min_length=1)
    """Headers they may send."""
    expose_headers: tuple[Token, ...] = Field(default=(), min_length=1)
    """Headers they may read."""
    max_age: DurationOrZero | None = None
    """How long the answer to a preflight request holds; 0: not at all."""
    allow_private_network: Flag = False
    """Also from public pages into a private network."""


@model
class ClientCertificateDetails:
    """The parts of a client's certificate that the backend is told."""

    subject: Flag = False
    """Its subject."""
    cert: Flag = False
    """The certificate, PEM in URL encoding."""
    chain: Flag = False
    """The whole chain, PEM in URL encoding."""
    dns: Flag = False
    """Its DNS names."""
    uri: Flag = False
    """Its URI."""


@model
class DownstreamValidation:
    """How certificates of clients are checked."""

    ca_secret: NonEmpty | None = None
    """A Secret with `ca.crt`, to check against: its name, or namespace/name if delegated."""
    skip_client_cert_validation: Flag = False
    """Ask for a certificate but do not check it; the backend has to."""
    forward_client_certificate: ClientCertificateDetails | None = None
    """What the backend is told of it."""
    crl_secret: NonEmpty | None = None
    """A Secret with `crl.pem`, the revoked ones."""
    crl_only_verify_leaf_cert: Flag = False
    """Look up only the client's own certificate there, not those of its authorities."""
    optional_client_certificate: Flag = False
    """Clients without a certificate may pass."""


@model
class TLS:
    """How the virtual host is served over TLS."""

    secret_name: str = ""
    """A TLS Secret: its name, or namespace/name if that is delegated."""
    minimum_protocol_version: str = ""
    """`1.2` or `1.3`; the configuration's setting if empty."""
    maximum_protocol_version: str = ""
    """`1.2` or `1.3`; the configuration's setting if empty."""
    passthrough: Flag = False
    """Hand the encrypted connection to the backend of `tcpproxy` as it is."""
    client_validation: DownstreamValidation | None = None
    """Ask clients for a certificate."""
    enable_fallback_certificate: Flag = False
    """Serve clients that send no server name with the configuration's fallback certificate."""


@model
class VirtualHost:
    """A host name, which makes an HTTPProxy a root."""

    fqdn: Fqdn
    """The name; its first label may be a wildcard. `*`, beside Contour's values: every host that
    nobody else has."""
    aliases: tuple[Fqdn, ...] = Field(default=(), max_length=100)
    """More names, served in the same way. Beside Contour's fields."""
    tls: TLS | None = None
    """Serve it over TLS."""
    authorization: AuthorizationServer | None = None
    """Ask a service whether requests may pass."""
    cors_policy: CORSPolicy | None = None
    """Which pages of other origins may send requests."""
    rate_limit_policy: RateLimitPolicy | None = None
    """Limit the number of requests."""
    jwt_providers: tuple[JWTProvider, ...] = ()
    """Issuers of tokens that routes may ask for."""
    ip_allow_policy: tuple[IPFilterPolicy, ...] = ()
    """Only these addresses may send requests; not together with `ipDenyPolicy`."""
    ip_deny_policy: tuple[IPFilterPolicy, ...] = ()
    """These addresses may not send requests."""
    max_request_bytes: PositiveUint32 | None = None
    """How large the body of a request may be. Beside Contour's fields."""
    error_pages: tuple[ErrorPage, ...] = ()
    """What clients see in place of error answers. Beside Contour's fields."""
