"""The filters of an HTTPRoute, which change its requests and responses.

Exactly the field that `type` names is set; the rules below require it with the messages of the CRD.
The CORS and external authorization filters are in `guards.py`.
"""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field, Strict

from crds.fields import Natural32, Percent, Port, Positive32, Subdomain
from crds.gateway.guards import HTTPCORSFilter, HTTPExternalAuthFilter
from crds.gateway.known import Known
from crds.gateway.matches import HeaderName, HeaderValue
from crds.gateway.references import BackendObjectReference, LocalObjectReference
from crds.meta import model, wire_name
from crds.rules import rule


@model
class HTTPHeader:
    """A header and its value."""

    name: HeaderName
    """The name of the header, in any case."""
    value: HeaderValue
    """The value of the header, taken literally."""


def _names_are_unique(headers: tuple[HTTPHeader, ...]) -> bool:
    return len({it.name for it in headers}) == len(headers)


@model
class HTTPHeaderFilter:
    """Headers that are set, added and removed."""

    set: tuple[HTTPHeader, ...] = Field(default=(), max_length=16)
    """Headers that replace those with the same name."""
    add: tuple[HTTPHeader, ...] = Field(default=(), max_length=16)
    """Headers that are added to those with the same name."""
    remove: tuple[str, ...] = Field(default=(), max_length=16)
    """Names of headers that are removed, in any case."""
    _names = rule(
        "set and add must not repeat a name",
        lambda it: _names_are_unique(it.set) and _names_are_unique(it.add),
    )


_PATH_FIELDS = {
    "ReplaceFullPath": "replace_full_path",
    "ReplacePrefixMatch": "replace_prefix_match",
}


def _has_the_path_it_names(modifier: Any) -> bool:
    given = {it for it in _PATH_FIELDS.values() if getattr(modifier, it) is not None}
    return modifier.type not in _PATH_FIELDS or given == {_PATH_FIELDS[modifier.type]}


@model
class HTTPPathModifier:
    """A new path, or a replacement for the prefix that matched."""

    type: Annotated[str, Known("ReplaceFullPath", "ReplacePrefixMatch")]
    """Which of the other two fields is set."""
    replace_full_path: str | None = Field(default=None, max_length=1024)
    """The path that replaces the whole one."""
    replace_prefix_match: str | None = Field(default=None, max_length=1024)
    """The path that replaces the prefix that the rule matches."""
    _path = rule(
        "exactly the field that type names must be specified: replaceFullPath or"
        " replacePrefixMatch",
        _has_the_path_it_names,
    )


@model
class HTTPRequestRedirectFilter:
    """A redirect; what is absent stays as it is in the request."""

    scheme: Annotated[str | None, Known("http", "https")] = None
    """The scheme in the Location of the redirect; without it, that of the request."""
    hostname: Subdomain | None = None
    """The host in the Location of the redirect; without it, that of the request."""
    path: HTTPPathModifier | None = None
    port: Port | None = None
    """If absent: the well-known port of the scheme, or the listener's port if no scheme is set."""
    status_code: Annotated[int, Strict(), Known(301, 302, 303, 307, 308)] = 302
    """The status of the response that redirects."""


@model
class HTTPURLRewriteFilter:
    """The host and path that the backend gets."""

    hostname: Subdomain | None = None
    """The host that backends see in requests."""
    path: HTTPPathModifier | None = None


@model
class Fraction:
    """A share of the requests, as a fraction."""

    numerator: Natural32
    """The number of requests out of as many as the denominator says."""
    denominator: Positive32 = 100
    """The number that the numerator is divided by."""
    _whole = rule(
        "numerator must be less than or equal to denominator",
        lambda it: it.numerator <= it.denominator,
    )


@model
class HTTPRequestMirrorFilter:
    """A backend that gets copies of the requests, whose responses are discarded."""

    backend_ref: BackendObjectReference
    percent: Percent | None = None
    """The share of the requests that is mirrored; without it and `fraction`, all are."""
    fraction: Fraction | None = None
    _share = rule(
        "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
        lambda it: it.percent is None or it.fraction is None,
    )


_FIELDS: dict[str, str] = {
    "RequestHeaderModifier": "request_header_modifier",
    "ResponseHeaderModifier": "response_header_modifier",
    "RequestMirror": "request_mirror",
    "RequestRedirect": "request_redirect",
    "URLRewrite": "url_rewrite",
    "ExtensionRef": "extension_ref",
    "CORS": "cors",
    "ExternalAuth": "external_auth",
}


def _has_the_field_it_names(it: Any) -> bool:
    given = [name for name in _FIELDS.values() if getattr(it, name) is not None]
    return it.type not in _FIELDS or given == [_FIELDS[it.type]]


@model
class HTTPRouteFilter:
    """One step in the processing of a request."""

    type: Annotated[str, Known(*_FIELDS)]
    """Which of the other fields is set, and so what the filter does."""
    request_header_modifier: HTTPHeaderFilter | None = None
    """Changes headers of requests before they are sent to backends."""
    response_header_modifier: HTTPHeaderFilter | None = None
    """Changes headers of responses before they are sent to clients."""
    request_mirror: HTTPRequestMirrorFilter | None = None
    """Sends a copy of requests to another backend, whose response is dropped."""
    request_redirect: HTTPRequestRedirectFilter | None = None
    """Answers requests with a redirect."""
    url_rewrite: HTTPURLRewriteFilter | None = None
    """Changes the host or the path of requests before they are sent to backends."""
    extension_ref: LocalObjectReference | None = None
    """A filter of another kind, such as an AuthenticationFilter or a RateLimitFilter."""
    cors: HTTPCORSFilter | None = None
    """Says which cross-origin requests browsers may send."""
    external_auth: HTTPExternalAuthFilter | None = None
    """An authorization service decides whether requests are allowed."""
    _field = rule(
        "exactly the field that type names must be specified: "
        + ", ".join(wire_name(it) for it in _FIELDS.values()),
        _has_the_field_it_names,
    )


_REPEATABLE = {"RequestMirror", "ExtensionRef"}


def _are_valid(holder: Any) -> bool:
    if not holder.filters:
        return True
    types = Counter(it.type for it in holder.filters)
    repeated = any(times > 1 for it, times in types.items() if it not in _REPEATABLE)
    return not repeated and not ("RequestRedirect" in types and "URLRewrite" in types)


FILTERS_ARE_VALID = rule(
    "filters must not repeat a type, except RequestMirror and ExtensionRef, and may have either"
    " RequestRedirect or URLRewrite, but not both",
    _are_valid,
)
"""For classes with the field `filters`."""
