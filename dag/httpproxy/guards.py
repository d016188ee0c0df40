"""Guards of hosts and routes: who may send requests, how often, and from which pages.

A guard that cannot be built closes what it is set on: the whole host, or the route. A guard of a
route replaces the host's of the same kind. Source: HTTPProxy reference, "VirtualHost", "Route".
Elsewhere: each guard in a module of its own.
"""

from collections.abc import Iterable, Iterator

from crds import httpproxy as crd
from crds import virtualhost
from crds.authorization import AuthorizationPolicy, AuthorizationServer
from crds.records import dataclass, replace
from dag import authorization, defaults, nodes
from dag.engine.view import View
from dag.httpproxy import cors, errorpages, ipfilters, jwt, ratelimits
from dag.problems import Problem, Refused, anywhere
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place


@dataclass(frozen=True, slots=True)
class HostGuards:
    """The guards of a virtual host, and what the guards of its routes may refer to."""

    policies: nodes.Policies | None = None
    authority: authorization.Authority | None = None
    providers: jwt.Providers = jwt.NONE
    is_closed: bool = False
    is_exempt: bool = False
    """The authorization service of the configuration is not asked: the host opts out, or names one
    of its own."""


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
            _check_counted(view, at)
            yield from _uncounted(view, at, has_services=True)
        return found
    except Refused as refused:
        yield refused.problem
        return CLOSED


def _of_host(
    view: View, place: Place, host: virtualhost.VirtualHost, providers: jwt.Providers
) -> Findings[HostGuards]:
    limits, at = host.rate_limit_policy, place.at("rateLimitPolicy")
    authority = yield from _authority(view, place, host)
    origins = yield from _origins(place.at("corsPolicy"), host)
    pages = yield from errorpages.pages(place, host.error_pages)
    policies = nodes.Policies(
        cors=origins,
        ip_filter=ipfilters.ip_filter(place, host.ip_allow_policy, host.ip_deny_policy),
        jwt=jwt.of_host(providers),
        authorization=_asked(authority),
        local_rate_limit=ratelimits.local(at, limits),
        rate_limits=_descriptors(view, at, host),
        body_limit=host.max_request_bytes,
        error_pages=pages,
    )
    is_exempt = _opts_out(host) or _names_own(host)
    return HostGuards(_or_none(policies), authority, providers, is_exempt=is_exempt)


def _origins(at: Place, host: virtualhost.VirtualHost) -> Findings[nodes.Cors | None]:
    if host.cors_policy is None:
        return None
    found = cors.cors(at, host.cors_policy)
    if found.exposed != found.expose:
        text = f"{anywhere.STANDS_FOR_NO_HEADER}; it has no effect"
        yield problems.not_enforced(at.at("exposeHeaders"), text)
    return found


def of_route(
    view: View, place: Place, route: crd.Route, host: HostGuards
) -> Findings[nodes.Policies | None]:
    """The guards of a route; Refused if one of them cannot be built."""
    if not any(getattr(route, it) for it in _OF_ROUTES):
        return None  # as most of them
    limits = route.rate_limit_policy
    global_ = limits.global_ if limits is not None else None
    at = place.at("rateLimitPolicy")
    rate_limits = ratelimits.descriptors(at, global_)
    if rate_limits is not None:
        _check_counted(view, at)
        yield from _uncounted(view, at, has_services=bool(route.services))
    yield from _check_asked(view, place.at("authPolicy"), route.auth_policy, host)
    pages = yield from errorpages.pages(place, route.error_pages)
    policies = nodes.Policies(
        ip_filter=ipfilters.ip_filter(place, route.ip_allow_policy, route.ip_deny_policy),
        jwt=jwt.of_route(place, route.jwt_verification_policy, host.providers),
        authorization=authorization.on_route(
            host.authority, place, route.auth_policy, problems.AUTHORIZATION
        ),
        local_rate_limit=ratelimits.local(at, limits),
        rate_limits=nodes.OFF if global_ and global_.disabled else rate_limits,
        body_limit=route.max_request_bytes,
        error_pages=pages,
    )
    return _or_none(policies)


_GUARDS = (
    "auth_policy",
    "rate_limit_policy",
    "jwt_verification_policy",
    "ip_allow_policy",
    "ip_deny_policy",
    "max_request_bytes",
)
_OF_ROUTES = (*_GUARDS, "error_pages")


def without_upgrades(
    place: Place, action: nodes.Action, policies: nodes.Policies | None, host: HostGuards
) -> Findings[nodes.Action]:
    """The action, which takes no WebSockets where requests have a limit: Envoy reads such a request
    to its end before it forwards it, and that of a WebSocket has none."""
    if not isinstance(action, nodes.Forward) or not action.websockets:
        return action
    if not any(it is not None and it.body_limit for it in (policies, host.policies)):
        return action
    text = "has no effect where maxRequestBytes limits requests, for which Envoy reads them whole"
    yield problems.not_enforced(place.at("enableWebsockets"), text)
    return replace(action, websockets=False)


def stand_before(route: crd.Route, host: HostGuards) -> bool:
    """Whether a route is guarded, by itself or by its host: a wider route may replace the host's
    guards."""
    return host.policies is not None or any(getattr(route, it) for it in _GUARDS)


def _check_counted(view: View, place: Place) -> None:
    if why := view.ask(defaults.uncounted, ()):
        text = f"the rate limit service of the configuration cannot be asked ({why})"
        raise Refused(problems.rate_limit_not_valid(place.at("global"), text))


def _uncounted(view: View, place: Place, *, has_services: bool) -> Iterator[Problem]:
    """Warns of limits that Envoy does not enforce, so that no author relies on them."""
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


def _opts_out(host: virtualhost.VirtualHost) -> bool:
    policy = host.authorization.auth_policy if host.authorization is not None else None
    return policy is not None and policy.disabled


def _names_own(host: virtualhost.VirtualHost) -> bool:
    return host.authorization is not None and host.authorization.extension_ref is not None


def _authority(
    view: View, place: Place, host: virtualhost.VirtualHost
) -> Findings[authorization.Authority | None]:
    """The authorization service. A host that opts out needs none; its routes may opt in again."""
    written, place = host.authorization, place.at("authorization")
    names_own = _names_own(host)
    if not names_own and (why := view.ask(defaults.unauthorized, ())):
        if not _opts_out(host):
            yield problems.extension_service_not_found(place, why)
        return None  # `hosts` closes the host
    try:
        return _found_authority(view, place, written)
    except Refused as refused:
        if not _opts_out(host):
            raise
        if names_own:
            yield refused.problem
        return None


def _found_authority(
    view: View, place: Place, written: AuthorizationServer | None
) -> authorization.Authority | None:
    if written is not None and written.extension_ref is not None:
        namespace = place.subject.namespace
        return authorization.authority(view, place, namespace, written, problems.AUTHORIZATION)
    known = view.ask(defaults.authority, ())
    if written is None:
        return known
    if known is not None:
        policy = written.auth_policy or AuthorizationPolicy()
        return authorization.on_host(known, place, policy, problems.AUTHORIZATION)
    text = "names no ExtensionService, and the configuration has none for every host"
    raise Refused(problems.extension_service_not_found(place, text))


def _check_asked(
    view: View, place: Place, policy: AuthorizationPolicy | None, host: HostGuards
) -> Iterator[Problem]:
    """Refused if a route opts in again where its host opted out, and there is no service to ask."""
    if policy is None or policy.disabled or host.authority is not None:
        return
    if host.is_exempt:
        text = "turns authorization on again, and there is no ExtensionService to ask"
        raise Refused(problems.extension_service_not_found(place, text))
    if view.ask(defaults.built_authority, ()) is None:
        text = "has no effect: neither the virtual host nor the configuration has anybody asked"
        yield problems.not_enforced(place, text)


def _asked(authority: authorization.Authority | None) -> nodes.Authorization | nodes.Off | None:
    if authority is None:
        return None
    return authority.asked if authority.is_default else nodes.OFF


def _descriptors(
    view: View, place: Place, host: virtualhost.VirtualHost
) -> nodes.RateLimits | nodes.Off | None:
    """The rate limit descriptors of a host: its own, else the configuration's, unless disabled."""
    written = host.rate_limit_policy.global_ if host.rate_limit_policy is not None else None
    if written is None:
        return ratelimits.descriptors(place, view.ask(defaults.rate_limits, ()))
    return nodes.OFF if written.disabled else ratelimits.descriptors(place, written)


def _or_none(policies: nodes.Policies) -> nodes.Policies | None:
    return None if policies == _NO_POLICIES else policies


_NO_POLICIES = nodes.Policies()
