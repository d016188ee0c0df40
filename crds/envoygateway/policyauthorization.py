"""The authorization of a SecurityPolicy: which requests may pass, by ordered rules.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.envoygateway.opaque import Opaque
from crds.fields import Flag
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_Claim = Annotated[str, StringConstraints(min_length=1, max_length=253)]
_Action = Annotated[str, Known("Allow", "Deny")]


@model
class OperationPath:
    """The path of a request, without its query."""

    type: Annotated[str, Known("Exact", "PathPrefix", "RegularExpression")] = "PathPrefix"
    """How the path is compared: `Exact`, `PathPrefix` or `RegularExpression`. The default is
    `PathPrefix`, by path elements."""
    value: Annotated[str, StringConstraints(max_length=1024)] = "/"
    """The path, the prefix or the regular expression that the path is compared with. The default is
    `/`."""
    invert: Flag = False
    """Whether requests with any other path are meant. The default is `false`."""


@model
class Operation:
    """What a request does."""

    methods: Annotated[
        tuple[str, ...],
        Known("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"),
    ] = Field(default=(), min_length=1, max_length=16)
    """The methods that requests of the rule may have, such as `GET`. Any one of them will do."""
    path: OperationPath | None = None
    """The path that requests of the rule must have; any path if absent."""
    _some = rule(
        "at least one of methods or path must be specified",
        lambda it: it.methods or it.path is not None,
        "has(self.methods) || has(self.path)",
    )


@model
class JWTClaim:
    """A claim of a token."""

    name: _Claim
    """The name of the claim. Dots lead to nested claims, as in `realm.role`."""
    value_type: Annotated[str, Known("String", "StringArray")] = "String"
    """Whether the claim is one text (`String`) or a list of texts (`StringArray`). The default is
    `String`."""
    values: tuple[str, ...] = Field(min_length=1, max_length=128)
    """The claim must be one of these texts, or have one of them in its list."""


@model
class JWTPrincipal:
    """Who asks, by the token that was verified."""

    provider: _Claim
    """The name of a provider of `jwt`, whose tokens are meant."""
    claims: tuple[JWTClaim, ...] = Field(default=(), min_length=1, max_length=16)
    """Claims that the token must have; all of them have to match."""
    scopes: tuple[_Claim, ...] = Field(default=(), min_length=1, max_length=16)
    """Scopes, all of which the token must have in its claim `scope`."""
    _some = rule(
        "at least one of claims or scopes must be specified",
        lambda it: it.claims or it.scopes,
        "has(self.claims) || has(self.scopes)",
    )


@model
class PrincipalHeader:
    """A header of requests."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """The name of the header, compared without case."""
    values: tuple[str, ...] = Field(min_length=1, max_length=256)
    """The values that the header may have, compared with case. Any one of them will do."""


@model
class Principal:
    """Who asks. All conditions that are given must be met."""

    client_cidrs: tuple[str, ...] = Field(default=(), min_length=1, validation_alias="clientCIDRs")
    """Ranges of client addresses in CIDR notation, such as `10.0.0.0/8`, one of which the client
    must be in."""
    jwt: JWTPrincipal | None = None
    """What the verified JSON Web Token of the request must say; it may be absent."""
    headers: tuple[PrincipalHeader, ...] = Field(default=(), min_length=1, max_length=256)
    """Headers of the request, all of which must match."""
    client_ip_geo_locations: Annotated[tuple[Opaque, ...], Unserved(guards=True)] = Field(
        default=(), min_length=1, validation_alias="clientIPGeoLocations"
    )
    """The countries, regions and networks that the address of the client may belong to."""
    _some = rule(
        "at least one of clientCIDRs, jwt, headers, or clientIPGeoLocations must be specified",
        lambda it: bool(it.client_cidrs or it.jwt or it.headers or it.client_ip_geo_locations),
        "has(self.clientCIDRs) || has(self.jwt) || has(self.headers) ||"
        " has(self.clientIPGeoLocations)",
    )


@model
class AuthorizationRule:
    """Some requests, and what becomes of them."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = None
    """The name of the rule, which only people read, and which may be absent."""
    action: _Action
    """What becomes of the requests that the rule is about: `Allow` or `Deny`."""
    operation: Operation | None = None
    """What requests of the rule do: their methods and paths. Without it, any request is meant."""
    principal: Principal | None = None
    """Who sends requests of the rule. Without it, the requests of anybody are meant."""
    cel: Annotated[str | None, Unserved(guards=True)] = Field(
        default=None, min_length=1, max_length=4096
    )
    """A condition in the Common Expression Language that requests must meet."""


@model
class Authorization:
    """Which requests may pass: the first rule that a request meets decides."""

    rules: tuple[AuthorizationRule, ...] = ()
    """The rules in their order. The first one whose conditions a request meets decides over it."""
    default_action: Annotated[Literal["Allow", "Deny"] | None, Known("Allow", "Deny")] = None
    """What becomes of requests that meet the conditions of no rule: `Allow` or `Deny`. The default
    is `Deny`."""
