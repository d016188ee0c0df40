"""HTTPRoute: the requests for a Gateway's hosts, and their backends.

The checks are those of the CRD (v1.6.1), with its messages. Filters are in `filters.py`, fields of
the experimental channel in `experimental.py`.
"""

from typing import Annotated, Any

from pydantic import Field

from crds.fields import GatewayDuration, Hostname, Subdomain
from crds.gateway.durations import milliseconds
from crds.gateway.experimental import HTTPRouteRetry, SessionPersistence
from crds.gateway.filters import FILTERS_ARE_VALID, HTTPRouteFilter
from crds.gateway.known import Known
from crds.gateway.matches import HTTPRouteMatch
from crds.gateway.references import ParentReference
from crds.gateway.routes import (
    MATCHES_ARE_LIMITED,
    PARENTS_ARE_UNIQUE,
    RULE_NAMES_ARE_UNIQUE,
    BackendRef,
)
from crds.meta import ObjectMeta, model
from crds.rules import rule


@model
class HTTPBackendRef(BackendRef):
    """A backend, its share of the requests, and filters for it alone."""

    filters: tuple[HTTPRouteFilter, ...] = Field(default=(), max_length=16)
    _filters = FILTERS_ARE_VALID


def _attempt_fits_into_request(timeouts: Any) -> bool:
    if timeouts.request is None or timeouts.backend_request is None:
        return True
    whole = milliseconds(timeouts.request)
    return whole == 0 or milliseconds(timeouts.backend_request) <= whole


@model
class HTTPRouteTimeouts:
    """Timeouts of requests; `0s` means no limit."""

    request: GatewayDuration | None = None
    """The timeout of a request with all of its retries."""
    backend_request: GatewayDuration | None = None
    """The timeout of each attempt."""
    _fits = rule(
        "backendRequest timeout cannot be longer than request timeout", _attempt_fits_into_request
    )


def _redirects(filters: tuple[HTTPRouteFilter, ...]) -> bool:
    return any(it.request_redirect for it in filters)


def _replaces_prefix(filters: tuple[HTTPRouteFilter, ...]) -> bool:
    changes = [it.request_redirect or it.url_rewrite for it in filters]
    return any(it and it.path and it.path.replace_prefix_match is not None for it in changes)


def _has_one_prefix_where_replaced(it: Any) -> bool:
    filters = (*it.filters, *(each for ref in it.backend_refs for each in ref.filters))
    if not _replaces_prefix(filters):
        return True
    return len(it.matches) == 1 and it.matches[0].path.type not in {"Exact", "RegularExpression"}


@model
class HTTPRouteRule:
    """Requests that meet one of the matches pass the filters and go to the backends."""

    name: Subdomain | None = None
    """The name of the rule, unique in its route."""
    matches: tuple[HTTPRouteMatch, ...] = Field(default=(HTTPRouteMatch(),), max_length=64)
    filters: tuple[HTTPRouteFilter, ...] = Field(default=(), max_length=16)
    backend_refs: tuple[HTTPBackendRef, ...] = Field(default=(), max_length=16)
    timeouts: HTTPRouteTimeouts | None = None
    retry: HTTPRouteRetry | None = None
    session_persistence: SessionPersistence | None = None
    _redirect = rule(
        "RequestRedirect filter must not be used together with backendRefs",
        lambda it: not (it.backend_refs and _redirects(it.filters)),
    )
    _prefix = rule(
        "When a filter replaces the matched prefix, exactly one PathPrefix match must be specified",
        _has_one_prefix_where_replaced,
    )
    _filters = FILTERS_ARE_VALID


@model
class HTTPRouteSpec:
    """The parents, hosts and rules of a route."""

    parent_refs: tuple[ParentReference, ...] = Field(default=(), max_length=32)
    hostnames: tuple[Hostname, ...] = Field(default=(), max_length=16)
    """If empty, all hosts of the listener."""
    rules: tuple[HTTPRouteRule, ...] = Field(
        default=(HTTPRouteRule(),), min_length=1, max_length=16
    )
    use_default_gateways: Annotated[str | None, Known("All", "None")] = None
    """The route also attaches to the default Gateways of this scope."""
    _parents = PARENTS_ARE_UNIQUE
    _matches = MATCHES_ARE_LIMITED
    _names = RULE_NAMES_ARE_UNIQUE


@model
class HTTPRoute:
    """Requests, by host, path, method, headers and query parameters, and their backends."""

    metadata: ObjectMeta
    spec: HTTPRouteSpec
