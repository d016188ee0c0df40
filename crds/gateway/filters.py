"""What is done to the requests and answers of an HTTPRoute: its filters.

Exactly the field that `type` names is set; the rules below say so in the words of the CRD. Cross-
origin policy and external authorization are in `guards.py`.
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
from crds.unserved import Unserved


@model
class HTTPHeader:
    """A header and its value."""

    name: HeaderName
    value: HeaderValue


def _names_are_unique(headers: tuple[HTTPHeader, ...]) -> bool:
    return len({it.name for it in headers}) == len(headers)


@model
class HTTPHeaderFilter:
    """Headers that are overwritten, added to, and taken away."""

    set: tuple[HTTPHeader, ...] = Field(default=(), max_length=16)
    add: tuple[HTTPHeader, ...] = Field(default=(), max_length=16)
    remove: tuple[str, ...] = Field(default=(), max_length=16)
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
    """A new path, or a new start in place of the prefix that matched."""

    type: Annotated[str, Known("ReplaceFullPath", "ReplacePrefixMatch")]
    replace_full_path: str | None = Field(default=None, max_length=1024)
    replace_prefix_match: str | None = Field(default=None, max_length=1024)
    _path = rule(
        "exactly the field that type names must be specified: replaceFullPath or"
        " replacePrefixMatch",
        _has_the_path_it_names,
    )


@model
class HTTPRequestRedirectFilter:
    """An answer that sends the client elsewhere; what is absent stays as it was."""

    scheme: Annotated[str | None, Known("http", "https")] = None
    hostname: Subdomain | None = None
    path: HTTPPathModifier | None = None
    port: Port | None = None
    """Absent: the well-known port of the scheme, or the listener's where no scheme is given."""
    status_code: Annotated[int, Strict(), Known(301, 302, 303, 307, 308)] = 302


@model
class HTTPURLRewriteFilter:
    """Another host or path for the backend."""

    hostname: Subdomain | None = None
    path: HTTPPathModifier | None = None


@model
class Fraction:
    """A share of requests."""

    numerator: Natural32
    denominator: Positive32 = 100
    _whole = rule(
        "numerator must be less than or equal to denominator",
        lambda it: it.numerator <= it.denominator,
    )


@model
class HTTPRequestMirrorFilter:
    """A copy of the requests, whose answers are thrown away."""

    backend_ref: BackendObjectReference
    percent: Percent | None = None
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
    """One step in the handling of a request."""

    type: Annotated[str, Known(*_FIELDS)]
    request_header_modifier: HTTPHeaderFilter | None = None
    response_header_modifier: HTTPHeaderFilter | None = None
    request_mirror: HTTPRequestMirrorFilter | None = None
    request_redirect: HTTPRequestRedirectFilter | None = None
    url_rewrite: HTTPURLRewriteFilter | None = None
    extension_ref: Annotated[LocalObjectReference | None, Unserved(guards=True)] = None
    cors: HTTPCORSFilter | None = None
    external_auth: HTTPExternalAuthFilter | None = None
    _field = rule(
        "exactly the field that type names must be specified: "
        + ", ".join(wire_name(it) for it in _FIELDS.values()),
        _has_the_field_it_names,
    )


_REPEATABLE = {"RequestMirror", "ExtensionRef"}


def _are_right(holder: Any) -> bool:
    if not holder.filters:
        return True
    types = Counter(it.type for it in holder.filters)
    repeated = any(times > 1 for it, times in types.items() if it not in _REPEATABLE)
    return not repeated and not ("RequestRedirect" in types and "URLRewrite" in types)


FILTERS_ARE_RIGHT = rule(
    "filters must not repeat a type, except RequestMirror and ExtensionRef, and may have either"
    " RequestRedirect or URLRewrite, but not both",
    _are_right,
)
"""For whatever holds `filters`."""
