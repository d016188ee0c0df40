"""What stands before the action of a route: who may ask, how often, and from which page.

A guard that cannot be built closes what it stands on: a host's the whole host, a route's that
route. What stands on a route replaces what its host says of the same. Source: HTTPProxy reference,
"VirtualHost", "Route". Elsewhere: each guard in a module of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from crds import httpproxy as crd
from crds import virtualhost
from crds.authorization import AuthorizationPolicy, AuthorizationServer
from dag import authorization, defaults, nodes
from dag.engine.view import View
from dag.faults import Fault
from dag.httpproxy import cors, errorpages, ipfilters, jwt, ratelimits
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.problems.places import Closed, Findings, Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostGuards:
    """What guards a virtual host, and what its routes may refer to."""

    policies: nodes.Policies | None = None
    authority: authorization.Authority | None = None
    providers: jwt.Providers = jwt.NONE
    is_closed: bool = False
    is_unasked: bool = False
    """The host has nobody asked for authorization, whatever the configuration says."""


OPEN = HostGuards()
CLOSED = HostGuards(is_closed=True)


def of_host(view: View, root: crd.HTTPProxy) -> Findings[HostGuards]:
    """The guards of a root's host; closed if one of them cannot be built."""
    host, place = root.spec.virtualhost, problems.spec(root.metadata.key).at("virtualhost")
    if host is None:
        return HostGuards()
    try:
        providers = yield from jwt.providers(view, place, root)
        found = yield from _of_host(view, place, host, providers)
        if found.policies is not None and isinstance(found.policies.rate_limits, nodes.RateLimits):
            at = place.at("rateLimitPolicy")
            _check_counted(view, at, _HOST)
            yield from _uncounted(view, at, has_services=True)
        return found
    except Closed as closed:
        yield closed.problem
        return CLOSED


def _of_host(
    view: View, place: Place, host: virtualhost.VirtualHost, providers: jwt.Providers
) -> Findings[HostGuards]:
    limits = host.rate_limit_policy
    authority = yield from _authority(view, place, host)
    pages = host.error_pages
    policies = nodes.Policies(
        cors=_built(place.at("corsPolicy"), "CORSError", lambda: _cors(host.cors_policy)),
        ip_filter=_ip_filter(place, host.ip_allow_policy, host.ip_deny_policy),
        jwt=jwt.of_host(providers),
        authorization=_asked(authority),
        local_rate_limit=_built(
            place.at("rateLimitPolicy"), _HOST, lambda: ratelimits.local(limits)
        ),
        rate_limits=_built(place.at("rateLimitPolicy"), _HOST, lambda: _descriptors(view, host)),
        body_limit=host.max_request_bytes,
        error_pages=_built(place, _HOST, lambda: errorpages.pages(pages)),
    )
    return HostGuards(_or_none(policies), authority, providers, is_unasked=_opts_out(host))


_HOST, _ROUTE = "VirtualHostError", "RouteError"


def of_route(
    view: View, place: Place, route: crd.Route, host: HostGuards
) -> Findings[nodes.Policies | None]:
    """The guards of a route; Closed if one of them cannot be built."""
    if not any(getattr(route, it) for it in _OF_ROUTES):
        return None  # as most of them
    limits = route.rate_limit_policy
    global_ = limits.global_ if limits is not None else None
    at = place.at("rateLimitPolicy")
    rate_limits = _built(at, _ROUTE, lambda: ratelimits.descriptors(global_))
    if rate_limits is not None:
        _check_counted(view, at, _ROUTE)
        yield from _uncounted(view, at, has_services=bool(route.services))
    yield from _check_asked(view, place.at("authPolicy"), route.auth_policy, host)
    policies = nodes.Policies(
        ip_filter=_ip_filter(place, route.ip_allow_policy, route.ip_deny_policy),
        jwt=jwt.of_route(place, route.jwt_verification_policy, host.providers),
        authorization=_built(
            place, "AuthError", lambda: authorization.on_route(host.authority, route.auth_policy)
        ),
        local_rate_limit=_built(at, _ROUTE, lambda: ratelimits.local(limits)),
        rate_limits=nodes.OFF if global_ and global_.disabled else rate_limits,
        body_limit=route.max_request_bytes,
        error_pages=_built(place, _ROUTE, lambda: errorpages.pages(route.error_pages)),
    )
    return _or_none(policies)


_OF_ROUTES = (
    "auth_policy",
    "rate_limit_policy",
    "jwt_verification_policy",
    "ip_allow_policy",
    "ip_deny_policy",
    "max_request_bytes",
    "error_pages",
)


def _check_counted(view: View, place: Place, type_: str) -> None:
    if why := view.ask(defaults.uncounted, ()):
        text = f"the rate limit service of the configuration cannot be asked: {why}"
        reason = ratelimits.NOT_VALID
        raise Closed(problems.guard_not_valid(place.at("global"), type_, reason, text))


def _uncounted(view: View, place: Place, *, has_services: bool) -> Iterator[Problem]:
    """What Envoy does not enforce is told, or its author would rely on it."""
    if not view.ask(defaults.counts, ()):
        text = "has no effect: the configuration names no rateLimitService"
        yield problems.not_enforced(place.at("global"), text)
    elif not has_services:
        text = "Envoy asks the rate limit service only of routes with services"
        yield problems.not_enforced(place.at("global"), text)


def named_providers(
    providers: jwt.Providers, policies: Iterable[nodes.Policies | None]
) -> tuple[nodes.JwtProvider, ...]:
    """The providers that a host and its routes name, sorted."""
    named = {it.jwt.provider for it in policies if it and isinstance(it.jwt, nodes.Jwt)}
    found = [it for it in providers.built.values() if it.name in named]
    return tuple(sorted(found, key=lambda it: it.name))


def _built(place: Place, type_: str, build: Callable[[], T]) -> T:
    try:
        return build()
    except Fault as fault:
        at = place.at(fault.step) if fault.step else place
        raise Closed(problems.guard_not_valid(at, type_, fault.reason, fault.text)) from None


def _cors(policy: virtualhost.CORSPolicy | None) -> nodes.Cors | None:
    return cors.cors(policy) if policy is not None else None


def _ip_filter(
    place: Place, allow: ipfilters.Policies, deny: ipfilters.Policies
) -> nodes.IpFilter | None:
    return _built(place, "IPFilterError", lambda: ipfilters.ip_filter(allow, deny))


def _opts_out(host: virtualhost.VirtualHost) -> bool:
    policy = host.authorization.auth_policy if host.authorization is not None else None
    return policy is not None and policy.disabled


def _authority(
    view: View, place: Place, host: virtualhost.VirtualHost
) -> Findings[authorization.Authority | None]:
    """Who is asked. A host that opts out needs nobody; a route may still turn it on again."""
    written = host.authorization
    try:
        return _found_authority(view, place.at("authorization"), written)
    except Closed as closed:
        if not _opts_out(host):
            raise
        if written is not None and written.extension_ref is not None:
            yield closed.problem
        return None


def _found_authority(
    view: View, place: Place, written: AuthorizationServer | None
) -> authorization.Authority | None:
    if written is not None and written.extension_ref is not None:
        namespace = place.subject.namespace
        return _built(place, "AuthError", lambda: authorization.authority(view, namespace, written))
    known = view.ask(defaults.authority, ())
    policy = written.auth_policy if written is not None else None
    if known is not None:
        return _built(place, "AuthError", lambda: authorization.on_host(known, policy))
    if written is None:
        return None
    text = "names no ExtensionService, and the configuration has none for every host"
    raise Closed(problems.guard_not_valid(place, "AuthError", "ExtensionServiceNotFound", text))


def _check_asked(
    view: View, place: Place, policy: AuthorizationPolicy | None, host: HostGuards
) -> Iterator[Problem]:
    """Closed if a route turns on again what its host turned off, and there is nobody to ask."""
    if policy is None or policy.disabled or host.authority is not None:
        return
    if host.is_unasked:
        text = "turns authorization on again, and there is no ExtensionService to ask"
        reason = "ExtensionServiceNotFound"
        raise Closed(problems.guard_not_valid(place, "AuthError", reason, text))
    if view.ask(defaults.built_authority, ()) is None:
        text = "has no effect: neither the virtual host nor the configuration has anybody asked"
        yield problems.not_enforced(place, text)


def _asked(authority: authorization.Authority | None) -> nodes.Authorization | nodes.Off | None:
    if authority is None:
        return None
    return authority.asked if authority.is_default else nodes.OFF


def _descriptors(view: View, host: virtualhost.VirtualHost) -> nodes.RateLimits | nodes.Off | None:
    """A host that says nothing gets the configuration's, unless it wants none."""
    written = host.rate_limit_policy.global_ if host.rate_limit_policy is not None else None
    if written is None:
        return ratelimits.descriptors(view.ask(defaults.rate_limits, ()))
    return nodes.OFF if written.disabled else ratelimits.descriptors(written)


def _or_none(policies: nodes.Policies) -> nodes.Policies | None:
    return None if policies == nodes.Policies() else policies
