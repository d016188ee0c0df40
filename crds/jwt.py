"""JSON Web Tokens: who issues them, where the signing keys are, which routes ask for them."""

from typing import Literal

from crds.fields import Duration, Flag, NonEmpty
from crds.meta import model
from crds.rules import rule
from crds.upstreamvalidation import UpstreamValidation


@model
class RemoteJWKS:
    """Signing keys that are fetched."""

    uri: NonEmpty
    """Where they are."""
    validation: UpstreamValidation | None = None
    """How the server's certificate is checked; not at all, if absent."""
    timeout: Duration | None = None
    """How long the server may take; a second if absent."""
    cache_duration: Duration | None = None
    """How long the keys are kept; Envoy's five minutes if absent."""
    dns_lookup_family: Literal["auto", "v4", "v6"] | None = None
    """The address family of the server; the configuration's setting if absent."""


@model
class LocalJWKS:
    """Signing keys from a Secret in the same namespace."""

    secret_name: NonEmpty
    """The Secret."""
    key: NonEmpty
    """The key of the Secret that holds them."""


@model
class ClaimToHeader:
    """A claim of the token that the backend is told in a header. Beside Contour's fields."""

    claim: NonEmpty
    """The name of the claim; dots lead into it."""
    header: NonEmpty
    """The header; what the client sends in it is thrown away."""


@model
class JWTProvider:
    """An issuer of tokens."""

    name: NonEmpty
    """What routes call it."""
    default: Flag = False
    """Routes that do not name a provider use this one."""
    issuer: str = ""
    """What the token's `iss` has to be; not checked if empty."""
    audiences: tuple[str, ...] = ()
    """What the token's `aud` may be; not checked if empty."""
    remote_jwks: RemoteJWKS | None = None
    """Signing keys from a server."""
    local_jwks: LocalJWKS | None = None
    """Signing keys from a Secret."""
    forward_jwt: Flag = False
    """The backend gets to see the token."""
    claims_to_headers: tuple[ClaimToHeader, ...] = ()
    """Claims that the backend is told. Beside Contour's fields."""
    _keys = rule(
        "exactly one of remoteJWKS or localJWKS must be set",
        lambda it: (it.remote_jwks is None) != (it.local_jwks is None),
        cel="(has(self.remoteJWKS) && !has(self.localJWKS))"
        " || (!has(self.remoteJWKS) && has(self.localJWKS))",
    )


@model
class JWTVerificationPolicy:
    """The tokens that a route asks for."""

    require: str = ""
    """The name of a provider; the default one if empty."""
    disabled: Flag = False
    """Ask for none."""
