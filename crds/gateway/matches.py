"""The requests that a rule of an HTTPRoute matches: path, headers, query parameters, method."""

import re
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
HeaderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", min_length=1, max_length=256),
]
HeaderValue = Annotated[str, StringConstraints(min_length=1, max_length=4096)]

_ALLOWED = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+")
_AMBIGUOUS = ("//", "/./", "/../", "%2f", "%2F", "#")


def _is_plain_path(match: Any) -> bool:
    if match.type not in {"Exact", "PathPrefix"}:
        return True
    path = match.value
    return (
        path.startswith("/")
        and not any(it in path for it in _AMBIGUOUS)
        and not path.endswith(("/..", "/."))
        and _ALLOWED.fullmatch(path) is not None
    )


@model
class HTTPPathMatch:
    """The path of a request. A prefix matches whole path segments."""

    type: Annotated[str, Known("Exact", "PathPrefix", "RegularExpression")] = "PathPrefix"
    """Whether the path, its beginning or a regular expression is compared."""
    value: str = Field(default="/", max_length=1024)
    """The path, its beginning or the regular expression."""
    _plain = rule(
        "value must be an absolute, normalised path of valid characters"
        " when type one of ['Exact', 'PathPrefix']",
        _is_plain_path,
    )


@model
class HTTPHeaderMatch:
    """The value of a header. Names are case-insensitive."""

    type: Annotated[str, Known("Exact", "RegularExpression")] = "Exact"
    """Whether the value is compared literally or as a regular expression."""
    name: HeaderName
    """The name of the header, in any case."""
    value: HeaderValue
    """The value that the header must have."""


@model
class HTTPQueryParamMatch:
    """The value of a query parameter."""

    type: Annotated[str, Known("Exact", "RegularExpression")] = "Exact"
    """Whether the value is compared literally or as a regular expression."""
    name: HeaderName
    """The name of the query parameter, as it is written in the URL."""
    value: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """The value that the query parameter must have."""


def _headers_are_unique(match: Any) -> bool:
    return len({it.name for it in match.headers}) == len(match.headers)


def _query_params_are_unique(match: Any) -> bool:
    return len({it.name for it in match.query_params}) == len(match.query_params)


@model
class HTTPRouteMatch:
    """Requests that meet all of these conditions."""

    path: HTTPPathMatch = HTTPPathMatch()
    headers: tuple[HTTPHeaderMatch, ...] = Field(default=(), max_length=16)
    """Headers that a request must have; all of them."""
    query_params: tuple[HTTPQueryParamMatch, ...] = Field(default=(), max_length=16)
    """Query parameters that a request must have; all of them."""
    method: Annotated[str | None, Known(*METHODS)] = None
    """The method that a request must have."""
    _headers = rule("headers must not repeat a name", _headers_are_unique)
    _query_params = rule("queryParams must not repeat a name", _query_params_are_unique)
