"""The JSON Web Tokens of a SecurityPolicy: which ones requests have to show.

The fields and limits are those of Envoy Gateway 1.9. What needs parsing is checked by the rules.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.envoygateway.authenticationfilter import ClaimHeader, LocalKeySet
from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, GatewayDuration
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_FETCHED = "the control plane fetches key sets by itself, and keeps the last good one"
_CLOSED = Unserved(guards=True)

_Short = Annotated[str, StringConstraints(max_length=253)]
_ShortNonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=253)]


@model
class PolicyRemoteKeySet:
    """Signing keys that the control plane fetches from a server, as a JSON Web Key Set."""

    uri: _ShortNonEmpty
    """The `https` URI of the key set. Names and addresses of the proxy's own machine, such as
    `localhost`, are rejected."""
    cache_duration: GatewayDuration = "300s"
    """The time after which the key set is fetched again, at least 1s. The default is `300s`."""
    failed_refetch_duration: Annotated[GatewayDuration | None, Unserved(instead=_FETCHED)] = None
    """The time after which a key set that could not be fetched is asked for again."""
    backend_ref: Annotated[Opaque | None, _CLOSED] = None
    """The server, if the host of the URI is not to be looked up."""
    backend_refs: Annotated[tuple[Opaque, ...], _CLOSED] = Field(default=(), max_length=16)
    """The servers, if the host of the URI is not to be looked up."""
    backend_settings: Annotated[Opaque | None, Unserved(instead=_FETCHED)] = None
    """How connections to the server of the key set are opened and used."""


@model
class HeaderSource:
    """A header that may have a token."""

    name: _ShortNonEmpty
    """The name of the header that may have a token, compared without case."""
    value_prefix: str | None = None
    """What stands before the token in the value, such as `Bearer `."""


@model
class TokenSources:
    """Where tokens are in requests."""

    headers: tuple[HeaderSource, ...] = ()
    """Headers of requests that may have a token, each with what stands before it."""
    cookies: tuple[str, ...] = ()
    """Names of the cookies of requests that may have a token as their value."""
    params: tuple[str, ...] = ()
    """Names of the query parameters of requests that may have a token."""


@model
class PolicyTokenProvider:
    """An issuer of JSON Web Tokens, and how its tokens are verified."""

    name: _ShortNonEmpty
    """The name of the provider, which must be unique in the policy."""
    issuer: _Short = ""
    """The token's `iss` claim must be equal to this URI or e-mail address. Without it the claim is
    not checked."""
    audiences: tuple[str, ...] = Field(default=(), max_length=8)
    """The token's `aud` claim must contain at least one of these texts. Without any, the claim is
    not checked."""
    remote_jwks: PolicyRemoteKeySet | None = None
    """The server that has the signing keys. One of `remoteJWKS` and `localJWKS` must be set."""
    local_jwks: LocalKeySet | None = None
    """Signing keys that stand here, or in a ConfigMap or Secret beside the policy."""
    claim_to_headers: tuple[ClaimHeader, ...] = ()
    """Claims of the verified token that the backend gets in request headers."""
    extract_from: TokenSources | None = None
    """Where in requests the tokens are. Without it: `Authorization: Bearer`, or the query parameter
    `access_token`."""
    recompute_route: Flag = False
    """Whether the route is chosen again after the token was verified, by the headers of
    `claimToHeaders`. The default is `false`."""
    _keys = rule(
        "either remoteJWKS or localJWKS must be specified.",
        lambda it: it.remote_jwks is not None or it.local_jwks is not None,
        "has(self.remoteJWKS) || has(self.localJWKS)",
    )
    _one = rule(
        "remoteJWKS and localJWKS cannot both be specified.",
        lambda it: it.remote_jwks is None or it.local_jwks is None,
        "!(has(self.remoteJWKS) && has(self.localJWKS))",
    )
    _recompute = rule(
        "claimToHeaders must be specified if recomputeRoute is enabled.",
        lambda it: not it.recompute_route or it.claim_to_headers,
        "(has(self.recomputeRoute) && self.recomputeRoute) ? size(self.claimToHeaders) > 0 : true",
    )


@model
class PolicyTokens:
    """Requests need a valid token of one of the providers."""

    providers: tuple[PolicyTokenProvider, ...] = Field(min_length=1, max_length=16)
    """The issuers of tokens. A request needs a valid token of any one of them."""
    optional: Flag | None = None
    """Whether requests without a token pass. Those with an invalid one do not. The default is
    `false`."""
    fail_open: Flag | None = None
    """Whether requests without a valid token pass, so that `authorization` may decide over them.
    The default is `false`."""
    _lenient = rule(
        "optional and failOpen cannot both be set; failOpen already tolerates a missing JWT",
        lambda it: not (it.optional and it.fail_open),
        "!(has(self.optional) && self.optional && has(self.failOpen) && self.failOpen)",
    )
