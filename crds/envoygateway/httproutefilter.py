"""HTTPRouteFilter: URLs that are rewritten, and answers that are given without a backend.

The fields and limits are those of Envoy Gateway 1.9. What relates several filters of a rule, or
needs parsing, is checked by the rules, and told on the routes: the kind has no status.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.envoygateway.policycredentials import SecretReference
from crds.envoygateway.responseoverride import OverrideBody
from crds.gateway.filters import HTTPHeaderFilter
from crds.meta import ObjectMeta, model
from crds.rules import rule

_NonEmpty = Annotated[str, StringConstraints(min_length=1)]


@model
class RegexSubstitution:
    """A regular expression, and what replaces the parts of the path that it matches."""

    pattern: _NonEmpty
    """An RE2 expression. Every part of the path that it matches is replaced; the query is not
    part of the path."""
    substitution: str
    """What replaces each match. `\\1` to `\\9` stand for the groups of the expression, `\\0` for
    the whole match, and `\\\\` for a backslash."""


@model
class HostnameRewrite:
    """The host that backends see."""

    type: Literal["Header", "Backend", "PathRegex"]
    """Where the host comes from: a header of the request (`Header`), the backend (`Backend`), or
    the path of the request (`PathRegex`)."""
    header: str | None = None
    """The request header whose value becomes the host, for the type `Header`. The host stays as it
    is in requests without that header."""
    path_regex: RegexSubstitution | None = None
    """How the host is made of the path, for the type `PathRegex`. The expression should match the
    whole path: what it leaves of the path becomes part of the host. The path itself stays as it
    is."""
    _header = rule(
        "header must be set for the type Header, and for no other",
        lambda it: (it.header is not None) == (it.type == "Header"),
        "has(self.header) == (self.type == 'Header')",
    )
    _path = rule(
        "pathRegex must be set for the type PathRegex, and for no other",
        lambda it: (it.path_regex is not None) == (it.type == "PathRegex"),
        "has(self.pathRegex) == (self.type == 'PathRegex')",
    )


@model
class PathRewrite:
    """The path that backends see."""

    type: Literal["ReplaceRegexMatch"]
    """How the path is changed. `ReplaceRegexMatch` replaces what a regular expression matches."""
    replace_regex_match: RegexSubstitution | None = None
    """What of the path is replaced, and by what. It must be set for the type
    `ReplaceRegexMatch`."""
    _match = rule(
        "replaceRegexMatch must be set for the type ReplaceRegexMatch",
        lambda it: it.replace_regex_match is not None,
        "has(self.replaceRegexMatch)",
    )


@model
class URLRewrite:
    """The host and the path that backends see."""

    hostname: HostnameRewrite | None = None
    """The host that backends see in the header `Host`, in place of that of the request."""
    append_x_forwarded_host: bool = True
    """Whether the host of the request is appended to the header `X-Forwarded-Host` where
    `hostname` changes it. The default is true."""
    path: PathRewrite | None = None
    """The path that backends see, in place of that of the request. The query stays as it is."""


@model
class DirectResponse:
    """An answer that Envoy gives itself."""

    content_type: str | None = None
    """The content type of the answer. The default is `text/plain` if there is a body."""
    status_code: int | None = None
    """The status code of the answer, from 200 to 599. The default is 200. A GRPCRoute needs one
    of at least 300."""
    body: OverrideBody | None = None
    """The body of the answer, at most 4096 bytes. It is empty if absent."""
    header: HTTPHeaderFilter | None = None
    """Headers of the answer that are set and added. `remove` has no effect, as no backend has set
    any header."""


@model
class InjectedCredential:
    """A credential that is put into requests."""

    value_ref: SecretReference
    """The Secret whose entry `credential` has the whole value of the header, such as
    `Bearer` and a token. A new value takes effect at once. In another namespace it requires a
    ReferenceGrant."""


@model
class CredentialInjection:
    """A header of requests that gets a credential before they are sent to backends."""

    header: str | None = None
    """The header that gets the credential. The default is `Authorization`."""
    overwrite: bool | None = None
    """Whether a value that the client sends in this header is replaced. The default is false: the
    client's value reaches the backend."""
    credential: InjectedCredential
    """The credential, which clients do not see."""


@model
class CookieMatch:
    """A condition on a cookie of the request."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """The name of the cookie, compared with case. Other cookies of the request do not matter."""
    type: Literal["Exact", "RegularExpression"] = "Exact"
    """How the value of the cookie is compared with `value`. The default is `Exact`."""
    value: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """The value that the cookie must have, or a regular expression for the whole of it. Of an
    expression that could match beyond the value nothing is served, and its rules answer 500."""


@model
class RouteMatch:
    """Conditions that a request must meet, all of them."""

    cookies: tuple[CookieMatch, ...] = Field(default=(), max_length=16)
    """Conditions on cookies of the request. All of them must hold for a request."""


@model
class HTTPRouteFilterSpec:
    """What happens to the requests of a rule."""

    url_rewrite: URLRewrite | None = None
    """Changes the host or the path of requests before they are sent to backends."""
    direct_response: DirectResponse | None = None
    """Answers requests without a backend. It can be used in rules of GRPCRoutes, too."""
    credential_injection: CredentialInjection | None = None
    """Puts a credential into a header of requests before they are sent to backends. Copies of
    requests for mirrors do not have it."""
    matches: tuple[RouteMatch, ...] = Field(default=(), max_length=8)
    """Further conditions on the requests of the rule: one of these must hold, beside one of the
    `matches` of the rule. A request that meets none of them goes to another rule."""


@model
class HTTPRouteFilter:
    """Changes requests of the route rules that name this filter in an `extensionRef`, or answers
    them. What is wrong with it is reported in the status of these routes."""

    metadata: ObjectMeta
    spec: HTTPRouteFilterSpec
    """What happens to the requests."""
