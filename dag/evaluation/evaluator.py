"""The evaluation itself: every step of a request, in the order in which it happens."""

from crds.records import replace
from dag import nodes
from dag.evaluation import (
    actions,
    attached,
    clients,
    clienttraffic,
    errorpages,
    faults,
    guards,
    logins,
    matching,
    normalization,
    places,
    streams,
)
from dag.evaluation.places import Closed, World
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Trace
from dag.values import hostnames

_MOST_ROUTES = 20
"""The most routes that a trace names although they do not match: the last ones before the match."""


def evaluate(world: World, fleet: str, request: Request) -> Trace:
    """What becomes of a request to a fleet, and why."""
    trace = Trace()
    try:
        trace.answer = _answered(world, fleet, request, trace)
    except Closed as error:
        trace.note("listener", "failed", str(error))
        lost = "packets are refused" if request.is_datagram else "the connection is refused"
        trace.answer = Answer(cause=f"{error}: {lost}")
    return trace


def _answered(world: World, fleet: str, request: Request, trace: Trace) -> Answer:
    at = trace.listener = places.listener(world, fleet, request)
    if request.is_stream:
        return streams.of_port(world, at, request, trace)
    trace.note("listener", "passed", f"{request.scheme} on port {request.port}: {at.name}")
    secure = None
    if request.is_secure:
        name, secure = places.secure_host(world, at, request)
        if secure.stream is not None:
            trace.note("certificate", "noted", streams.described(name, secure.stream))
            return streams.of_host(world, nodes.HostKey(*at, name), secure, request, trace)
        trace.note("certificate", "passed", f"TLS as the host {name} asks for it")
        attached.of_listener(world, nodes.HostKey(*at, name), trace)
    traffic = places.client_traffic(world, at, secure)
    seen = _seen(world, traffic, request)
    if isinstance(seen, Answer):
        trace.note("request", "failed", seen.cause)
        return seen
    if seen.path == traffic.health_path and seen.upgrade is None:
        trace.note("request", "noted", f"a ClientTrafficPolicy has Envoy answer {seen.path}")
        return Answer(200)
    is_filtered = _note_filters(world, at, seen, trace)
    host = places.virtual_host(world, at, seen, trace)
    if isinstance(host, Answer):
        trace.note("host", "failed", host.cause)
        found = _unserved(world, at, host, seen)
        return replace(found, may_be_refused=is_filtered and found.status != _MISDIRECTED)
    trace.host = host.host
    if not request.is_secure:
        attached.of_listener(world, nodes.HostKey(*at, host.host), trace)
    found = _of_host(world, at, host, seen, trace)
    found = replace(found, hides_backends=clienttraffic.hides_backends(traffic, found))
    if is_filtered and found.status != _MISDIRECTED:
        found = replace(found, may_be_refused=True)
    asked = [it for it in places.settings_of(world).hook_servers if it.hooks - {"Route"}]
    if not asked:
        return found
    names = ", ".join(it.name for it in asked)
    trace.note("host", "noted", f"what extensions change ({names}) is not evaluated")
    return replace(found, may_be_refused=True)


def _seen(world: World, traffic: nodes.ClientTraffic, request: Request) -> Request | Answer:
    """The request as routes see it, or Envoy's answer to it."""
    settings = clienttraffic.overlaid(places.settings_of(world), traffic)
    asked = clienttraffic.without_upgrades(request, traffic.ignored_upgrades)
    found = normalization.normal(asked, settings)
    if isinstance(found, Answer):
        return found
    if traffic.requests is not None:
        found = clienttraffic.changed(found, traffic.requests)
    address = places.client_address(world, traffic)
    found = clients.located(found, address)
    return (
        found
        if isinstance(found, Answer)
        else clients.with_client_headers(found, address, traffic.request_id)
    )


def _note_filters(world: World, at: nodes.ListenerKey, request: Request, trace: Trace) -> bool:
    """Tells of the filters that the request passes before it is routed; True if there are any.

    What servers change of it is not known here: it is matched as it came.
    """
    found = places.filters_of_listener(world, at, request)
    for number, it in enumerate(found):
        words = f"listener filter {number}: a server decides, and may change what routes match"
        trace.note("guard", "noted", words, it.origin)
    return bool(found)


def _of_host(
    world: World, at: nodes.ListenerKey, host: nodes.VirtualHost, request: Request, trace: Trace
) -> Answer:
    route = _route(host, request, trace)
    if route is not None:
        attached.of_route(world, nodes.HostKey(*at, host.host), route, trace)
    misdirected = places.misdirection(world, at, host, request) if request.is_secure else None
    if route is None:
        found = Answer(404, f"no route of the host {host.host} takes the request")
        return _unrouted(found, request) if misdirected is None else found
    if misdirected is not None:
        trace.note("host", "failed", misdirected.cause)
        return misdirected
    if refused := _refused_protocol(route, request):
        trace.note("route", "failed", refused.cause, route.origin)
        return actions.refused(refused, route)
    return _replaced(host, route, _of_route(world, host, route, request, trace), request, trace)


def _of_route(
    world: World, host: nodes.VirtualHost, route: nodes.Route, request: Request, trace: Trace
) -> Answer:
    """What the guards of a route and its action make of a request."""
    refused = guards.refusal(host, route, request, trace)
    if refused is not None:
        is_routed = refused.cause and refused.status != logins.REDIRECT
        return actions.refused(refused, route) if is_routed else refused
    elsewhere = guards.decided_elsewhere(host, route, request)
    for words in elsewhere:
        trace.note("guard", "noted", words, route.origin)
    is_open = not (elsewhere or route.extensions or guards.is_limited(host, route))
    denied = guards.denial(host, route, request, trace)
    if denied is not None:
        return replace(actions.refused(denied, route), may_be_refused=not is_open)
    aborted = faults.abortion(host, route, trace)
    if aborted is not None:
        return replace(actions.refused(aborted, route), may_be_refused=not is_open)
    is_open = is_open and not faults.is_drawn(host, route)
    _note_rest(host, route, trace)
    found = places.reached(world, actions.answer(host.host, route, request))
    if found.cause:
        trace.note("action", "failed", found.cause, route.origin)
    return replace(found, may_be_refused=not is_open)


def _replaced(
    host: nodes.VirtualHost, route: nodes.Route, found: Answer, request: Request, trace: Trace
) -> Answer:
    """The answer, with the error page that clients see in its place."""
    pages = guards.in_force(host.policies, route.policies).error_pages
    if not isinstance(pages, tuple):
        return found
    answer = errorpages.shown(found, pages, request)
    if (answer.status, answer.body) != (found.status, found.body):
        words = f"error pages: one replaces Envoy's own answer, {found.status}"
        trace.note("guard", "noted", words, route.origin)
    return answer


def _note_rest(host: nodes.VirtualHost, route: nodes.Route, trace: Trace) -> None:
    """Tells of settings that cannot refuse the request, as far as is known here."""
    for words in guards.noted(host, route):
        trace.note("guard", "noted", words, route.origin)
    for words in actions.noted(route.action):
        trace.note("action", "noted", words, route.origin)
    for it in dict.fromkeys(route.extensions):
        words = f"what an extension makes of {it.ref} is not evaluated"
        trace.note("route", "noted", words, route.origin)


def _route(host: nodes.VirtualHost, request: Request, trace: Trace) -> nodes.Route | None:
    """The first route that takes the request; the trace names the last ones before it."""
    failed: list[tuple[nodes.Route, str]] = []
    for route in host.routes:
        failure = next(matching.failures(route.match, request), "")
        if not failure and route.match.drawn is None:
            _tell(failed, trace)
            words = f"the path {request.bare_path} is {matching.described(route.match.path)}"
            trace.note("route", "passed", words, route.origin)
            return route
        failed.append((route, failure or "the route takes only a drawn share of requests"))
    _tell(failed, trace)
    return None


def _tell(failed: list[tuple[nodes.Route, str]], trace: Trace) -> None:
    for route, failure in failed[-_MOST_ROUTES:]:
        trace.note("route", "failed", failure, route.origin)


def _unserved(world: World, at: nodes.ListenerKey, answer: Answer, request: Request) -> Answer:
    """The answer where no host serves a request.

    Over TLS, TRACE gets its own answer only if the connection was opened for the unserved host: on
    other connections, misdirection is found first (`contour.envoy.scripts`).
    """
    if not request.is_secure:
        return _unrouted(answer, request)
    is_own = answer.status == _MISDIRECTED and request.name == request.asked
    name, _ = places.secure_host(world, at, request)
    return _unrouted(answer, request) if is_own and name != hostnames.EVERY else answer


_MISDIRECTED = 421


def _unrouted(answer: Answer, request: Request) -> Answer:
    """The answer where no route takes a request; TRACE gets 405 instead (RFC 9110, 9.3.8)."""
    if request.method == "TRACE":
        return Answer(405, "no route asks for the method TRACE by name")
    return answer


def _refused_protocol(route: nodes.Route, request: Request) -> Answer | None:
    """The answer to a request that wants to switch protocols, if the route does not allow that."""
    upgrade = request.upgrade
    if upgrade is None:
        return None
    is_allowed = isinstance(route.action, nodes.Forward) and route.action.websockets
    if is_allowed and upgrade.lower() == "websocket":
        return None
    return Answer(403, f"the route allows no upgrade to {upgrade}", route=route)
