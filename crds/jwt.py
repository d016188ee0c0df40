"""JSON Web Tokens: their issuers, the signing keys, and the routes that require them."""

from typing import Literal

from crds.fields import Duration, Flag, NonEmpty
from crds.meta import model
from crds.rules import rule
from crds.upstreamvalidation import UpstreamValidation


@model
class RemoteJWKS:
    """Signing keys that the control plane fetches from a server, as a JSON Web Key Set. Until it
    has them, the routes that require this provider answer 503."""

    uri: NonEmpty
    """The `http` or `https` URI of the key set. Names and addresses of the proxy's own machine,
    such as `localhost`, are rejected."""
    validation: UpstreamValidation | None = None
    """The certificate authority and the names by which the server's certificate is verified.
    Without it the certificate is not verified. It requires an `https` URI."""
    timeout: Duration | None = None
    """The longest time that a request for the keys may take, such as `5s`. The default is 1
    second. More than 10 seconds are taken as 10 seconds, and the status says so."""
    cache_duration: Duration | None = None
    """The time after which the keys are fetched again. The default is 5 minutes. If that fails, the
    last keys stay in use, and the status says why."""
    dns_lookup_family: Literal["auto", "v4", "v6"] | None = None
    """The IP version by which the name of the server is resolved. The default is auto: both are
    tried."""


@model
class LocalJWKS:
    """Signing keys from a Secret in the namespace of the HTTPProxy, as a JSON Web Key Set."""

    secret_name: NonEmpty
    """The name of the Secret, in the namespace of the HTTPProxy. While it is missing or invalid,
    the routes that require this provider answer 503."""
    key: NonEmpty
    """The key of the Secret whose value is the JSON Web Key Set."""


@model
class ClaimToHeader:
    """A claim of the token that is passed to the backend in a request header. Upstream Contour does
    not have this type."""

    claim: NonEmpty
    """The name of the claim. Dots lead to nested claims, as in `realm.role`."""
    header: NonEmpty
    """The name of the request header. A value that the client sends in this header is removed."""


@model
class JWTProvider:
    """An issuer of JSON Web Tokens, and how its tokens are verified. If it is invalid, the routes
    that require it answer 503."""

    name: NonEmpty
    """The name by which routes refer to this provider. It must be unique in the virtual host;
    otherwise the whole host answers 503."""
    default: Flag = False
    """If true, routes without a `jwtVerificationPolicy` require a token of this provider. At most
    one provider may be the default; otherwise the whole host answers 503."""
    issuer: str = ""
    """The token's `iss` claim must be equal to this text. Without it the claim is not checked."""
    audiences: tuple[str, ...] = ()
    """The token's `aud` claim must contain at least one of these texts. Without any, the claim is
    not checked."""
    remote_jwks: RemoteJWKS | None = None
    """The signing keys are fetched from a server. Either this or `localJWKS` must be set."""
    local_jwks: LocalJWKS | None = None
    """The signing keys are read from a Secret. Either this or `remoteJWKS` must be set."""
    forward_jwt: Flag = False
    """If true, the token is forwarded to the backend. By default Envoy removes it once it has been
    verified."""
    claims_to_headers: tuple[ClaimToHeader, ...] = ()
    """Claims of the verified token that the backend gets in request headers. Upstream Contour does
    not have this field."""
    _keys = rule(
        "exactly one of remoteJWKS or localJWKS must be set",
        lambda it: (it.remote_jwks is None) != (it.local_jwks is None),
        cel="(has(self.remoteJWKS) && !has(self.localJWKS))"
        " || (!has(self.remoteJWKS) && has(self.localJWKS))",
    )


@model
class JWTVerificationPolicy:
    """The token that a route requires. Without this policy the default provider of the virtual host
    applies, if there is one."""

    require: str = ""
    """Requests must have a valid token of the provider with this name. If there is no such
    provider, the route answers 503."""
    disabled: Flag = False
    """If true, the route requires no token, even if the virtual host has a default provider. It
    cannot be combined with `require`."""
