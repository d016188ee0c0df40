"""GRPCRoute: the gRPC methods of a Gateway's hosts, and their backends.

The checks are those of the CRD (v1.6.1). Filters and header matches are those of the HTTPRoute,
without redirects, rewrites and CORS, which have no meaning for gRPC.
"""

import re
from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from crds.fields import Hostname, Subdomain
from crds.gateway.experimental import SessionPersistence
from crds.gateway.filters import HTTPHeaderFilter, HTTPRequestMirrorFilter
from crds.gateway.known import Known
from crds.gateway.matches import HeaderName, HeaderValue
from crds.gateway.references import LocalObjectReference, ParentReference
from crds.gateway.routes import (
    MATCHES_ARE_LIMITED,
    PARENTS_ARE_UNIQUE,
    RULE_NAMES_ARE_UNIQUE,
    BackendRef,
)
from crds.meta import ObjectMeta, model, wire_name
from crds.rules import rule

_SERVICE = re.compile(r"(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*")
_METHOD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _is_like(form: re.Pattern[str], name: str | None) -> bool:
    return not name or form.fullmatch(name) is not None


@model
class GRPCMethodMatch:
    """A gRPC service, a method, or both, matched exactly or by a regular expression."""

    type: Annotated[str, Known("Exact", "RegularExpression")] = "Exact"
    """Whether names are compared literally or as regular expressions."""
    service: str | None = Field(default=None, max_length=1024)
    """The name of the service with its package, such as `com.example.User`."""
    method: str | None = Field(default=None, max_length=1024)
    """The name of the method; without it, all methods of the service match."""
    _either = rule(
        "One or both of 'service' or 'method' must be specified",
        lambda it: it.type not in {"Exact", "RegularExpression"} or it.service or it.method,
    )
    _service = rule(
        r"service must only contain valid characters"
        r" (matching ^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$)",
        lambda it: it.type != "Exact" or _is_like(_SERVICE, it.service),
    )
    _method = rule(
        "method must only contain valid characters (matching ^[A-Za-z_][A-Za-z_0-9]*$)",
        lambda it: it.type != "Exact" or _is_like(_METHOD, it.method),
    )


@model
class GRPCHeaderMatch:
    """The value of a header. Names are case-insensitive."""

    type: Annotated[str, Known("Exact", "RegularExpression")] = "Exact"
    """Whether the value is compared literally or as a regular expression."""
    name: HeaderName
    """The name of the header, in any case."""
    value: HeaderValue
    """The value that the header must have."""


@model
class GRPCRouteMatch:
    """Calls that meet all of these conditions."""

    method: GRPCMethodMatch | None = None
    """If absent, all methods."""
    headers: tuple[GRPCHeaderMatch, ...] = Field(default=(), max_length=16)
    """Headers that a request must have; all of them."""


_FIELDS: dict[str, str] = {
    "RequestHeaderModifier": "request_header_modifier",
    "ResponseHeaderModifier": "response_header_modifier",
    "RequestMirror": "request_mirror",
    "ExtensionRef": "extension_ref",
}


def _has_the_field_it_names(it: Any) -> bool:
    given = [name for name in _FIELDS.values() if getattr(it, name) is not None]
    return it.type not in _FIELDS or given == [_FIELDS[it.type]]


@model
class GRPCRouteFilter:
    """One step in the processing of a call."""

    type: Annotated[str, Known(*_FIELDS)]
    """Which of the other fields is set, and so what the filter does."""
    request_header_modifier: HTTPHeaderFilter | None = None
    """Changes headers of requests before they are sent to backends."""
    response_header_modifier: HTTPHeaderFilter | None = None
    """Changes headers of responses before they are sent to clients."""
    request_mirror: HTTPRequestMirrorFilter | None = None
    """Sends a copy of requests to another backend, whose response is dropped."""
    extension_ref: LocalObjectReference | None = None
    """A filter of another kind, such as an AuthenticationFilter."""
    _field = rule(
        "exactly the field that type names must be specified: "
        + ", ".join(wire_name(it) for it in _FIELDS.values()),
        _has_the_field_it_names,
    )


def _are_not_repeated(holder: Any) -> bool:
    types = Counter(it.type for it in holder.filters)
    return max(types["RequestHeaderModifier"], types["ResponseHeaderModifier"]) <= 1


_FILTERS_ARE_VALID = rule(
    "filters must not repeat RequestHeaderModifier or ResponseHeaderModifier", _are_not_repeated
)


@model
class GRPCBackendRef(BackendRef):
    """A backend, its share of the calls, and filters for it alone."""

    filters: tuple[GRPCRouteFilter, ...] = Field(default=(), max_length=16)
    _filters = _FILTERS_ARE_VALID


@model
class GRPCRouteRule:
    """Calls that meet one of the matches pass the filters and go to the backends."""

    name: Subdomain | None = None
    """The name of the rule, unique in its route."""
    matches: tuple[GRPCRouteMatch, ...] = Field(default=(), max_length=64)
    filters: tuple[GRPCRouteFilter, ...] = Field(default=(), max_length=16)
    backend_refs: tuple[GRPCBackendRef, ...] = Field(default=(), max_length=16)
    session_persistence: SessionPersistence | None = None
    _filters = _FILTERS_ARE_VALID


@model
class GRPCRouteSpec:
    """The parents, hosts and rules of a route."""

    parent_refs: tuple[ParentReference, ...] = Field(default=(), max_length=32)
    hostnames: tuple[Hostname, ...] = Field(default=(), max_length=16)
    """If empty, all hosts of the listener."""
    rules: tuple[GRPCRouteRule, ...] = Field(default=(), max_length=16)
    use_default_gateways: Annotated[str | None, Known("All", "None")] = None
    """The route also attaches to the default Gateways of this scope."""
    _parents = PARENTS_ARE_UNIQUE
    _matches = MATCHES_ARE_LIMITED
    _names = RULE_NAMES_ARE_UNIQUE


@model
class GRPCRoute:
    """gRPC calls, by host, service, method and headers, and their backends."""

    metadata: ObjectMeta
    spec: GRPCRouteSpec
