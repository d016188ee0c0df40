"""Redirects that lead clients on without end: in a circle, or to ever longer paths.

For each route that redirects, a request is made up and followed as a client follows it. Routes on
which more than the path and the method decide are not followed, nor redirects that set a cookie:
the client or a proxy before Envoy may ask otherwise the next time.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import replace
from dag import hosts, listeners, nodes
from dag.engine.incremental import Engine
from dag.evaluation import evaluator, written
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code
from dag.findings.routes import shown

_MOST = 20
"""The most redirects that are followed, as in browsers."""
_TO_GET = {(301, "POST"), (302, "POST")}
"""Status and method of requests after which clients ask by GET."""


def check(engine: Engine) -> Steps:
    """Follows the redirects of every virtual host; a route on several listeners is told once."""
    told: set[tuple[ObjectRef, nodes.Match, str]] = set()
    for key, found in engine.answers(hosts.virtual_host):
        yield None
        at = engine.answer(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
        for route in found.routes if found is not None and at is not None else ():
            mark = (route.origin, route.match, key.host)
            if at is None or not _is_followed(route) or mark in told:
                continue
            yield None
            circle = _circle(engine, key.fleet, route, _requests(key.host, at, route.match))
            if circle:
                told.add(mark)
                yield _told(route, circle)


def _told(route: nodes.Route, circle: list[str]) -> Finding:
    text = f"the redirect of {shown(route.match)} leads clients on without end"
    way = " to ".join(circle[:3]) + (" …" if len(circle) > 3 else "")
    return Finding(Code.RedirectLoop, route.origin, "", f"{text}: {way}")


def _is_followed(route: nodes.Route) -> bool:
    match = route.match
    decides = (match.headers, match.queries, match.cookies, match.is_grpc)
    return isinstance(route.action, nodes.Redirect) and not any(decides) and match.drawn is None


def _requests(host: str, at: nodes.Listener, match: nodes.Match) -> Iterator[Request]:
    """Requests that the match takes; none for a regular expression."""
    if isinstance(match.path, nodes.Regex):
        return
    name = host.replace("*", "any", 1)
    is_secure = at.protocol == "HTTPS"
    port = "" if at.port == (443 if is_secure else 80) else f":{at.port}"
    slash = "" if match.path.path.endswith("/") else "/"
    below = () if isinstance(match.path, nodes.Exact) else (f"{match.path.path}{slash}any",)
    for path in (match.path.path, *below):
        yield Request(name + port, path, match.method or "GET", port=at.port, is_secure=is_secure)


class _Step(NamedTuple):
    """A request that is redirected, and by which route."""

    method: str
    url: str
    route: nodes.Route


def _circle(
    engine: Engine, fleet: str, route: nodes.Route, requests: Iterator[Request]
) -> list[str]:
    """The URLs of redirects without end, with this route among them; empty if they end."""
    for request in requests:
        steps = list(_followed(engine, fleet, request))
        endless = _endless(steps)
        if any(it.route == route for it in endless):
            return [it.url for it in endless]
        if steps and steps[0].route == route:
            break  # other requests that it takes are redirected alike
    return []


def _endless(steps: list[_Step]) -> list[_Step]:
    """A circle, or the last redirects of too many; empty if they end."""
    if len(steps) > _MOST:
        return steps[-3:]
    first = steps.index(steps[-1]) if steps else 0
    return steps[first:] if first < len(steps) - 1 else []


def _followed(engine: Engine, fleet: str, request: Request) -> Iterator[_Step]:
    """Each request that is redirected; one that comes again is the last one."""
    seen: set[_Step] = set()
    while len(seen) <= _MOST:
        answer = evaluator.evaluate(engine, fleet, request).answer
        if answer.route is None or not _is_redirected(answer):
            return
        step = _Step(request.method, request.url, answer.route)
        yield step
        if step in seen:
            return
        seen.add(step)
        try:
            request = _next(request, answer)
        except ValueError:
            return


def _is_redirected(answer: Answer) -> bool:
    if answer.route is None or not answer.location or not _is_followed(answer.route):
        return False
    return all(name != "set-cookie" for name, _ in answer.response_headers)


def _next(request: Request, answer: Answer) -> Request:
    """What a client asks next. Raises ValueError if the location is no URL of HTTP."""
    goes_on = answer.status != 303 and (answer.status, request.method) not in _TO_GET
    found = written.request(answer.location, request.method if goes_on else "GET")
    usual = ":443" if found.is_secure else ":80"
    return replace(found, host=found.host.lower().removesuffix(usual))
