"""The virtual host of a root HTTPProxy: its name, its certificate, and what protects it."""

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
    """A range of IP addresses, and which address of the client is compared with it."""

    source: Literal["Peer", "Remote"]
    """The address that is compared. `Peer` is the other end of the connection; `Remote` is the
    client as trusted proxies report it by `X-Forwarded-For` or the PROXY protocol."""
    cidr: str
    """The range in CIDR notation, such as `10.0.0.0/8`, or a single address. An invalid one makes
    the host or route answer 503."""


@model
class CORSPolicy:
    """The cross-origin requests that browsers may send (CORS). An invalid policy makes the whole
    host answer 503."""

    allow_credentials: Flag = False
    """If true, browsers may send credentials, such as cookies, and read the response. The default
    is false."""
    allow_origin: tuple[str, ...] = Field(min_length=1)
    """The origins that may send requests: `*` for all, an origin such as `https://example.com`, one
    with a wildcard such as `https://*.example.com`, or an RE2 expression."""
    allow_methods: tuple[Token, ...] = Field(min_length=1)
    """The HTTP methods that cross-origin requests may use, such as `GET`."""
    allow_headers: tuple[Token, ...] = Field(default=(), min_length=1)
    """The request headers that cross-origin requests may have, beside those that browsers always
    allow."""
    expose_headers: tuple[Token, ...] = Field(default=(), min_length=1)
    """The response headers that scripts may read, beside those that browsers always allow."""
    max_age: DurationOrZero | None = None
    """The time for which browsers may cache the response to a preflight request, such as `10m`; `0`
    disables caching. Browsers use their own default if it is absent."""
    allow_private_network: Flag = False
    """If true, pages of public networks may send requests to this host in a private network. The
    default is false."""


@model
class ClientCertificateDetails:
    """The parts of a verified client certificate that the backend gets in the header
    `X-Forwarded-Client-Cert`. Each one is false by default."""

    subject: Flag = False
    """If true, the backend gets the subject of the certificate."""
    cert: Flag = False
    """If true, the backend gets the whole certificate, as URL-encoded PEM."""
    chain: Flag = False
    """If true, the backend gets the whole certificate chain, as URL-encoded PEM."""
    dns: Flag = False
    """If true, the backend gets the DNS names among the subject alternative names."""
    uri: Flag = False
    """If true, the backend gets the URI among the subject alternative names."""


@model
class DownstreamValidation:
    """How certificates of clients are verified. Either `caSecret` or `skipClientCertValidation`
    must be set; if the policy is invalid, the whole host answers 503."""

    ca_secret: NonEmpty | None = None
    """The Secret with the CA certificates in its key `ca.crt`: a name in the same namespace, or
    `namespace/name` if a TLSCertificateDelegation permits it."""
    skip_client_cert_validation: Flag = False
    """If true, clients are asked for a certificate, but Envoy accepts any, so that the backend has
    to verify it. The default is false."""
    forward_client_certificate: ClientCertificateDetails | None = None
    """The parts of the client certificate that the backend gets in a header. By default it gets
    none."""
    crl_secret: NonEmpty | None = None
    """The Secret with the certificate revocation lists in its key `crl.pem`, named like `caSecret`.
    Revoked certificates are rejected. With `skipClientCertValidation` it has no effect, and a
    warning says so."""
    crl_only_verify_leaf_cert: Flag = False
    """If true, only the client's own certificate is looked up in the revocation lists. By default
    the whole chain is, and every CA needs a list."""
    optional_client_certificate: Flag = False
    """If true, clients without a certificate are accepted; a certificate that is sent is still
    verified. The default is false."""


@model
class TLS:
    """How the virtual host is served over TLS. Either `secretName` or `passthrough` must be set; if
    TLS cannot be served, plain HTTP answers 503 except where a route permits it."""

    secret_name: str = ""
    """The Secret with the certificate and key of the host: a name in the same namespace, or
    `namespace/name` if a TLSCertificateDelegation permits it."""
    minimum_protocol_version: str = ""
    """The lowest TLS version, `1.2` or `1.3`, within the range of the configuration. The default is
    that range's lowest version; another value is ignored with a warning."""
    maximum_protocol_version: str = ""
    """The highest TLS version, `1.2` or `1.3`, within the range of the configuration. The default
    is that range's highest version; another value is ignored with a warning."""
    passthrough: Flag = False
    """If true, Envoy does not terminate TLS, and the backends of `tcpproxy` get the encrypted
    connection. It requires a `tcpproxy` and excludes `secretName`."""
    client_validation: DownstreamValidation | None = None
    """Clients must have a certificate that is verified in this way. By default they are not asked
    for one."""
    enable_fallback_certificate: Flag = False
    """If true, clients that send no server name (SNI) are served with the fallback certificate of
    the configuration. It excludes client validation, authorization and JWT providers."""


@model
class VirtualHost:
    """The host that the HTTPProxy serves. Of several roots with the same host the oldest serves it,
    and the others get an error."""

    fqdn: Fqdn
    """The DNS name of the host, whose first label may be the wildcard `*`. The name `*` alone,
    which upstream Contour does not have, takes every host that is not served otherwise."""
    aliases: tuple[Fqdn, ...] = Field(default=(), max_length=100)
    """Further DNS names that are served in the same way, at most 100. Upstream Contour does not
    have this field."""
    tls: TLS | None = None
    """The host is served over TLS, and plain HTTP is redirected to https. By default it is served
    over plain HTTP alone."""
    authorization: AuthorizationServer | None = None
    """An authorization service decides whether requests are allowed. The default is `globalExtAuth`
    of the configuration."""
    cors_policy: CORSPolicy | None = None
    """The cross-origin requests that browsers may send. By default Envoy adds no CORS headers."""
    rate_limit_policy: RateLimitPolicy | None = None
    """Limits on the rate of requests to this host. The default of the configuration applies where
    no global limit is set."""
    jwt_providers: tuple[JWTProvider, ...] = ()
    """The issuers of JSON Web Tokens that routes of this host may require."""
    ip_allow_policy: tuple[IPFilterPolicy, ...] = ()
    """Only clients with one of these addresses may send requests; others are answered with 403.
    Together with `ipDenyPolicy`, or with an invalid range, the host answers 503."""
    ip_deny_policy: tuple[IPFilterPolicy, ...] = ()
    """Clients with one of these addresses are answered with 403. With an invalid range the host
    answers 503."""
    max_request_bytes: PositiveUint32 | None = None
    """The largest body of a request, in bytes; a larger one is answered with 413, unless it
    comes in one frame of HTTP/2 (at most 16 KiB). By default there is no limit. A service gets
    a body once it is complete, so calls by gRPC whose clients stream wait until these have sent
    everything. Upstream Contour does not have this field."""
    error_pages: tuple[ErrorPage, ...] = ()
    """Pages that replace error responses of Envoy and of the backends. By default none are
    replaced. Upstream Contour does not have this field."""
