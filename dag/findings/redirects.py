"""Redirects that lead clients on without end: in a circle, or to ever longer paths.

For each route that redirects, a request is made up and followed as a client follows it. Routes on
which more than the path and the method decide are not followed, nor redirects that set a cookie:
the client or a proxy before Envoy may ask otherwise the next time. The usual redirect from HTTP to
HTTPS is followed only if there is one on HTTPS that it may lead to: every host with TLS has it.
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
from dag.values import hostnames

_MOST = 20
"""The most redirects that are followed, as in browsers."""
_TO_GET = {(301, "POST"), (302, "POST")}
"""Status and method of requests after which clients ask by GET."""


def check(engine: Engine) -> Steps:
    """Follows the redirects of every virtual host; a route on several listeners is told once."""
    on_https: set[tuple[str, str]] = set()
    for found in _redirects(engine):
        yield None
        if found is not None and found.at.protocol == "HTTPS":
            on_https.add((found.key.fleet, found.key.host))
    told: set[tuple[ObjectRef, nodes.Match, str]] = set()
    for found in _redirects(engine):
        yield None
        if found is None or found.mark in told or _ends_on_https(found, on_https):
            continue
        circle = _circle(engine, found)
        if circle:
            told.add(found.mark)
            yield _told(found.route, circle)


class _Found(NamedTuple):
    """A route that redirects, its virtual host and the listener of that."""

    key: nodes.HostKey
    at: nodes.Listener
    route: nodes.Route

    @property
    def mark(self) -> tuple[ObjectRef, nodes.Match, str]:
        return self.route.origin, self.route.match, self.key.host

    @property
    def name(self) -> str:
        """A name that the host takes."""
        return self.key.host.replace("*", "any", 1)


def _redirects(engine: Engine) -> Iterator[_Found | None]:
    """Every route whose redirect is followed, and None once for each virtual host."""
    for key, found in engine.answers(hosts.virtual_host):
        yield None
        at = engine.answer(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
        if found is not None and at is not None:
            yield from (_Found(key, at, it) for it in found.routes if _is_followed(it))


def _ends_on_https(found: _Found, on_https: set[tuple[str, str]]) -> bool:
    """Whether a redirect changes nothing but HTTP to HTTPS, and nothing redirects there."""
    action = found.route.action
    return (
        found.at.protocol == "HTTP"
        and isinstance(action, nodes.Redirect)
        and action.scheme == "https"
        and (action.host, action.full_path, action.prefix) == (None, None, None)
        and not any((found.key.fleet, it) in on_https for it in hostnames.covering(found.name))
    )


def _told(route: nodes.Route, circle: list[str]) -> Finding:
    text = f"the redirect of {shown(route.match)} leads clients on without end"
    way = " to ".join(circle[:3]) + (" …" if len(circle) > 3 else "")
    return Finding(Code.RedirectLoop, route.origin, "", f"{text}: {way}")


def _is_followed(route: nodes.Route) -> bool:
    match = route.match
    decides = (match.headers, match.queries, match.cookies, match.is_grpc)
    return isinstance(route.action, nodes.Redirect) and not any(decides) and match.drawn is None


def _requests(found: _Found) -> Iterator[Request]:
    """Requests that the match takes; none for a regular expression."""
    at, match = found.at, found.route.match
    if isinstance(match.path, nodes.Regex):
        return
    is_secure = at.protocol == "HTTPS"
    port = "" if at.port == (443 if is_secure else 80) else f":{at.port}"
    slash = "" if match.path.path.endswith("/") else "/"
    below = () if isinstance(match.path, nodes.Exact) else (f"{match.path.path}{slash}any",)
    for path in (match.path.path, *below):
        host, method = found.name + port, match.method or "GET"
        yield Request(host, path, method, port=at.port, is_secure=is_secure)


class _Step(NamedTuple):
    """A request that is redirected, and by which route."""

    method: str
    url: str
    route: nodes.Route


def _circle(engine: Engine, found: _Found) -> list[str]:
    """The URLs of redirects without end, with this route among them; empty if they end."""
    for request in _requests(found):
        steps = list(_followed(engine, found.key.fleet, request))
        endless = _endless(steps)
        if any(it.route == found.route for it in endless):
            return [it.url for it in endless]
        if steps and steps[0].route == found.route:
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
