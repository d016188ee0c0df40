"""SecurityPolicy: what stands before the routes of a Gateway, attached to it or to its routes.

The fields and limits are those of Envoy Gateway 1.9. What is not served and guards something closes
the routes of the policy. What relates a policy to other objects is checked by the rules.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.envoygateway.policyauthorization import Authorization
from crds.envoygateway.policycredentials import APIKeyAuth, BasicAuth
from crds.envoygateway.policylogin import PolicyLogin
from crds.envoygateway.policyservers import ExternalAuthorization
from crds.envoygateway.policytargets import PolicyTargets
from crds.envoygateway.policytokens import PolicyTokens
from crds.fields import Flag, GatewayDuration, Natural32, Positive32
from crds.gateway.known import Known
from crds.meta import ObjectMeta, model
from crds.rules import rule
from crds.unserved import Unserved

PolicyOrigin = Annotated[
    str,
    StringConstraints(
        pattern=r"^(\*|[A-Za-z][A-Za-z0-9+.-]*:\/\/"
        r"(\*|(\*\.)?(([\w-]+\.?)+)?[\w-]+)(:\d{1,5})?)$",
        min_length=1,
        max_length=253,
    ),
]


@model
class PolicyCORS:
    """The cross-origin requests that browsers may send (CORS)."""

    allow_origins: tuple[PolicyOrigin, ...] = ()
    """The origins whose pages may read answers, such as `https://*.example.com`, or `*`."""
    allow_methods: tuple[str, ...] = ()
    """The methods that cross-origin requests may have, such as `GET`, or `*` for all of them."""
    allow_headers: tuple[str, ...] = ()
    """The headers that cross-origin requests may have beside those that all may have."""
    expose_headers: tuple[str, ...] = ()
    """The headers of answers that pages of these origins may read."""
    max_age: GatewayDuration | None = None
    """The time for which browsers may keep the answer to a preflight request."""
    allow_credentials: Flag | None = None
    """Whether requests may have credentials. The default is `false`."""


@model
class ShadowFraction:
    """A share of the requests, as a fraction."""

    numerator: Natural32
    """The number of requests, out of as many as `denominator` says, that are let through."""
    denominator: Positive32 = 100
    """The number that the numerator is divided by. The default is `100`."""
    _whole = rule(
        "numerator must be less than or equal to denominator",
        lambda it: it.numerator <= it.denominator,
        "self.numerator <= self.denominator",
    )


@model
class PolicyCSRF:
    """Requests that change something (POST, PUT, DELETE, PATCH) need an `Origin`, or a `Referer`,
    of the host that they ask."""

    additional_origins: tuple[PolicyOrigin, ...] = Field(default=(), max_length=16)
    """Further origins that may send such requests, such as `https://*.example.com`, or `*`. Only
    the host and the port are compared."""
    shadow_fraction: ShadowFraction | None = None
    """The share of the requests that are counted (`csrf.request_invalid`) and let through. The
    default is none of them."""


_CLOSED = Unserved(guards=True)


@model
class SecurityPolicySpec(PolicyTargets):
    """The targets, and what stands before them."""

    merge_type: Annotated[str | None, Known("StrategicMerge", "JSONMerge")] = None
    """How the policy of a route or a rule is merged with that of its listener or Gateway:
    `StrategicMerge` or `JSONMerge`. It replaces that policy if absent."""
    cors: PolicyCORS | None = None
    """The cross-origin requests that browsers may send (CORS). Preflight requests are answered."""
    jwt: PolicyTokens | None = None
    """The JSON Web Tokens that requests need, and how they are verified."""
    authorization: Authorization | None = None
    """Which requests may pass, by addresses, headers, methods, paths and claims of tokens."""
    ext_auth: ExternalAuthorization | None = None
    """A server that is asked about each request and decides whether it may pass."""
    basic_auth: BasicAuth | None = None
    """Requests need the name and password of a user (HTTP basic authentication)."""
    api_key_auth: APIKeyAuth | None = Field(default=None, validation_alias="apiKeyAuth")
    """The keys one of which requests need, in a header, a parameter or a cookie."""
    oidc: PolicyLogin | None = None
    """The OpenID provider at which users log in before their requests may pass."""
    csrf: PolicyCSRF | None = None
    """Requests that change something must come from pages of the same origin (CSRF)."""


@model
class SecurityPolicy:
    """What stands before the routes of a Gateway. The policy of a rule of a route replaces that of
    the route, which replaces that of the listener, which replaces that of the Gateway. Of two
    policies for the same target, the older one applies."""

    metadata: ObjectMeta
    spec: SecurityPolicySpec
    """The targets, and what stands before them."""
