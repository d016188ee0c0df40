"""AuthenticationFilter: requests of a route rule need a valid JSON Web Token.

The fields and limits are those of Envoy Gateway 0.3 to 0.5, which removed the kind in 0.6. Ours are
`localJWKS`, which later releases of Envoy Gateway have in SecurityPolicy, and `caCertificateRefs`.
What relates several fields or needs parsing is checked by the rules, and told on the routes: the
kind has no status.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import ObjectMeta, model

_Short = Annotated[str, StringConstraints(max_length=253)]
_ShortNonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=253)]


@model
class ContentReference:
    """A ConfigMap or Secret in the namespace of the filter."""

    group: Group = ""
    """The API group of the object: the core group, which is empty."""
    kind: KindName = "ConfigMap"
    """The kind of the object: `ConfigMap`, the default, or `Secret`."""
    name: ObjectName
    """The name of the object."""


@model
class RemoteKeySet:
    """Signing keys that the control plane fetches from a server, as a JSON Web Key Set."""

    uri: _ShortNonEmpty
    """The `https` URI of the key set. Names and addresses of the proxy's own machine, such as
    `localhost`, are rejected."""
    ca_certificate_refs: tuple[ContentReference, ...] = Field(default=(), max_length=8)
    """ConfigMaps and Secrets in the namespace of the filter, whose `ca.crt` has the certificate
    authorities that the server's certificate is verified with. Without any, these are the
    authorities of the machine that the control plane runs on. Envoy Gateway does not have this
    field."""


@model
class LocalKeySet:
    """Signing keys that need no server, as a JSON Web Key Set of at most 256 KiB. Envoy Gateway 0.5
    does not have this type; its fields are those of the later SecurityPolicy."""

    type: Literal["Inline", "ValueRef"] = "Inline"
    """Where the keys are: `Inline` or `ValueRef`. The default is `Inline`."""
    inline: str | None = None
    """The key set itself, for the type `Inline`."""
    value_ref: ContentReference | None = None
    """The ConfigMap or Secret that has the key set, for the type `ValueRef`. It is in the namespace
    of the filter, and its entry `jwks` or, without that, `jwks.json` is used. Changes take effect
    at once."""


@model
class ClaimHeader:
    """A claim of the token that is passed to the backend in a request header."""

    header: str
    """The name of the request header. A value that the client sends in this header is removed."""
    claim: str
    """The name of the claim. Dots lead to nested claims, as in `realm.role`."""


@model
class JWTAuthenticationProvider:
    """An issuer of JSON Web Tokens, and how its tokens are verified."""

    name: _ShortNonEmpty
    """The name of the provider, which must be unique in the filter."""
    issuer: _Short = ""
    """The token's `iss` claim must be equal to this URI or e-mail address. Without it the claim is
    not checked."""
    audiences: tuple[str, ...] = Field(default=(), max_length=8)
    """The token's `aud` claim must contain at least one of these texts. Without any, the claim is
    not checked."""
    remote_jwks: RemoteKeySet | None = None
    """The server that has the signing keys. One of `remoteJWKS`, `remoteJwks` and `localJWKS` must
    be set."""
    remote_jwks_as_designed: RemoteKeySet | None = Field(
        default=None, validation_alias="remoteJwks"
    )
    """The server that has the signing keys: another spelling of `remoteJWKS`."""
    local_jwks: LocalKeySet | None = None
    """Signing keys that need no server."""
    claim_to_headers: tuple[ClaimHeader, ...] = ()
    """Claims of the verified token that the backend gets in request headers."""


@model
class AuthenticationFilterSpec:
    """How requests are authenticated."""

    type: Literal["JWT"]
    """The kind of authentication: `JWT`, for JSON Web Tokens."""
    jwt_providers: tuple[JWTAuthenticationProvider, ...] = Field(default=(), max_length=4)
    """The issuers of tokens, at least one. A request needs a valid token of any one of them."""


@model
class AuthenticationFilter:
    """Requests of the route rules that name this filter in an `extensionRef` need a valid token.
    What is wrong with it is reported in the status of these routes."""

    metadata: ObjectMeta
    spec: AuthenticationFilterSpec
    """How requests are authenticated."""
