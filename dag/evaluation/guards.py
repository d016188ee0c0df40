"""The guards of a route, in the order in which a request meets them, before the route's action.

The order is that of the filters (`contour.envoy.filters`). A policy of a route replaces the host's
of the same kind. Where a server or a counter decides, the trace notes that the answer may be
another one.
"""

from collections.abc import Iterator

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes
from dag.evaluation import access, authentication, logins, matching, origins
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Outcome, Trace


def refusal(
    host: nodes.VirtualHost, route: nodes.Route, request: Request, trace: Trace
) -> Answer | None:
    """The answer of the first guard that lets the request go no further."""
    found = in_force(host.policies, route.policies)
    is_forwarded = isinstance(route.action, nodes.Forward)
    if isinstance(found.cors, nodes.Cors) and is_forwarded and _is_preflight(request):
        trace.note("guard", "failed", "CORS: Envoy answers the preflight by itself", route.origin)
        return Answer(200, route=route)
    if isinstance(found.csrf, nodes.Csrf):
        words = origins.refusal(found.csrf, request)
        if words and found.csrf.enforced == origins.ALL:
            trace.note("guard", "failed", words, _policy(route))
            return Answer(403, words, route=route)
    if isinstance(found.ip_filter, nodes.IpFilter):
        words = not_admitted(found.ip_filter, request, trace, route.origin)
        if words:
            return Answer(403, words, route=route)
    limited = is_limited(host, route)
    if limited:
        trace.note("guard", "noted", "local rate limit: may answer 429", route.origin)
    stranger = _stranger(found, route, request, trace)
    if stranger is None:
        return None
    return replace(stranger, may_be_refused=limited or stranger.may_be_refused)


def _stranger(
    found: nodes.Policies, route: nodes.Route, request: Request, trace: Trace
) -> Answer | None:
    """The answer to a request without credentials; None if it shows what is asked for."""
    wanted = found.authentication
    if not isinstance(wanted, nodes.Authentication):
        return _unknown(found, route, request, trace)
    words = authentication.lacking(wanted, request)
    if words:
        trace.note("guard", "failed", words, wanted.source)
        return Answer(401, words, route=route)
    refused = _unknown(found, route, request, trace)
    if refused is None:
        return None
    trace.note("guard", "noted", authentication.UNDECIDED, wanted.source)
    return replace(refused, may_be_refused=True)


def _unknown(
    found: nodes.Policies, route: nodes.Route, request: Request, trace: Trace
) -> Answer | None:
    """The answer to a request that shows no login, or no token."""
    if found.login is not None:
        refused = logins.refusal(found.login, request)
        if refused is not None:
            trace.note("guard", "failed", refused.words, found.login.source)
            return Answer(refused.status, refused.words, route=route)
    if isinstance(found.jwt, nodes.Jwt) and _is_lacking(found.jwt, request):
        words = f"JWT: the request has no token of the provider {found.jwt.provider}"
        trace.note("guard", "failed", words, route.origin)
        return Answer(401, words, route=route)
    return None


def denial(
    host: nodes.VirtualHost, route: nodes.Route, request: Request, trace: Trace
) -> Answer | None:
    """The answer of the rules of a policy, which come behind tokens and servers, if they deny."""
    found = in_force(host.policies, route.policies)
    decided = None
    if isinstance(found.access, nodes.Access):
        decided = access.decision(found.access, request)
    if decided is None:
        return None
    outcome: Outcome = "passed" if decided.is_allowed else "failed"
    trace.note("guard", outcome, decided.words, _policy(route))
    return None if decided.is_allowed else Answer(403, decided.words, route=route)


def _policy(route: nodes.Route) -> ObjectRef:
    """The object whose guard this is: the route's SecurityPolicy, else the route's origin."""
    return next((it for it in route.attached if it.kind == "SecurityPolicy"), route.origin)


def _is_lacking(node: nodes.Jwt, request: Request) -> bool:
    """Whether a required token is missing; not known if a SecurityPolicy may read it elsewhere."""
    is_elsewhere = node.source is not None and node.source.kind == "SecurityPolicy"
    return node.leniency == "none" and not is_elsewhere and not _has_token(request)


def is_limited(host: nodes.VirtualHost, route: nodes.Route) -> bool:
    """Whether a local rate limit counts the requests, so that Envoy may answer some with 429."""
    found = in_force(host.policies, route.policies)
    return isinstance(found.local_rate_limit, nodes.LocalRateLimit | nodes.LocalLimits)


def decided_elsewhere(host: nodes.VirtualHost, route: nodes.Route, request: Request) -> list[str]:
    """Guards whose decision is not known here, as texts for people."""
    found = in_force(host.policies, route.policies)
    is_forwarded = isinstance(route.action, nodes.Forward)
    told = {
        "CSRF: Envoy draws whether it is refused": isinstance(found.csrf, nodes.Csrf)
        and bool(origins.refusal(found.csrf, request)),
        authentication.UNDECIDED: isinstance(found.authentication, nodes.Authentication),
        logins.UNDECIDED: found.login is not None and not logins.is_passed(found.login, request),
        "JWT: the token is verified by Envoy": isinstance(found.jwt, nodes.Jwt),
        "authorization: claims of the token decide": _is_undecided(found.access, request),
        "authorization: a server decides": isinstance(found.authorization, nodes.Authorization),
        "rate limit service: may answer 429": isinstance(found.rate_limits, nodes.RateLimits)
        and is_forwarded,
        "limits that a service counts: may answer 429": found.limits is not None,
    }
    return [words for words, is_so in told.items() if is_so]


def _is_undecided(node: nodes.Access | nodes.Off | None, request: Request) -> bool:
    return isinstance(node, nodes.Access) and access.decision(node, request) is None


def noted(host: nodes.VirtualHost, route: nodes.Route) -> Iterator[str]:
    """Policies that cannot refuse the request, as far as is known here; as texts for people."""
    found = in_force(host.policies, route.policies)
    if isinstance(found.body_limit, int):
        yield f"body limit: more than {found.body_limit} bytes are answered 413"
    if isinstance(found.error_pages, tuple):
        yield f"error pages: {len(found.error_pages)} replace answers of some statuses"
    if isinstance(found.compressors, tuple):
        names = ", ".join(it.algorithm for it in found.compressors)
        yield f"compression: as the client likes best of {names}"
    if isinstance(found.session, nodes.SessionPersistence):
        yield f"session persistence: by the {found.session.kind.lower()} {found.session.name}"


def in_force(host: nodes.Policies | None, route: nodes.Policies | None) -> nodes.Policies:
    """The policies of a route, with those of its host where it has none of the kind."""
    if route is None or host is None:
        return route or host or nodes.Policies()
    kept = {
        name: getattr(host, name)
        for name in nodes.Policies.__dataclass_fields__
        if getattr(route, name) is None
    }
    return replace(route, **kept)


def not_admitted(
    node: nodes.IpFilter, request: Request, trace: Trace, origin: ObjectRef | None = None
) -> str:
    """Why the IP filter refuses the client's address; empty if it does not. Notes the step."""
    is_allowed = _admits(node, request)
    asking = " and ".join(dict.fromkeys(request.address(it.source) for it in node.ranges))
    words = f"IP filter: {asking} is {'allowed' if is_allowed else 'not allowed'}"
    trace.note("guard", "passed" if is_allowed else "failed", words, origin)
    return "" if is_allowed else words


def _admits(node: nodes.IpFilter, request: Request) -> bool:
    """Whether an IP filter lets the client or the peer in."""
    is_listed = any(access.is_from(it, request) for it in node.ranges)
    return is_listed == (node.action == "ALLOW")


def is_origin(node: nodes.Cors, origin: str) -> bool:
    """Whether pages of an origin may read answers."""
    return any(it.operator == "present" or matching.is_value(it, origin) for it in node.origins)


def _is_preflight(request: Request) -> bool:
    asks = request.header("origin") and request.header("access-control-request-method")
    return request.method == "OPTIONS" and bool(asks)


def _has_token(request: Request) -> bool:
    if (request.header("authorization") or "").startswith("Bearer "):
        return True
    return any(name == "access_token" for name, _ in request.queries())
