"""Which routes of a root are served on plain HTTP, and which behind TLS.

On a TLS host, plain HTTP is redirected wherever a route does not permit it. Where TLS itself cannot
be served such a route answers 503: what was meant for TLS never goes in the clear, and a redirect
would lead to nobody, which browsers remember. It does so over TLS, too, which another API may
terminate: none of its routes takes such requests. With a `tcpproxy` the bytes of TLS connections go
there, or nowhere, and the routes are those of plain HTTP. Source: HTTPProxy reference,
"VirtualHost", "Route.permitInsecure".
"""

from collections.abc import Iterable, Iterator

from crds.httpproxy import HTTPProxy
from crds.records import replace
from crds.virtualhost import VirtualHost
from dag import entrypoints, nodes, redirects
from dag.configuration import settings
from dag.engine.view import View
from dag.httpproxy import fallback, guards, routes, streamguards, tcpproxy, tls
from dag.httpproxy.included import IncludedProxy
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place


def claim(
    view: View, root: HTTPProxy, host: guards.HostGuards, written: tuple[routes.LocatedRoute, ...]
) -> Iterator[nodes.Claim | IncludedProxy | Problem]:
    """The claim of a root for its host, and what it includes."""
    is_bare = not written and bool(root.spec.routes or root.spec.includes)
    for it in _claimed(view, root, host, written):
        yield replace(it, is_bare=is_bare) if isinstance(it, nodes.Claim) else it


def _claimed(
    view: View, root: HTTPProxy, host: guards.HostGuards, written: tuple[routes.LocatedRoute, ...]
) -> Iterator[nodes.Claim | IncludedProxy | Problem]:
    wanted = root.spec.virtualhost
    if wanted is None or wanted.tls is None:
        yield from _on_plain_http_alone(view, root, host, written)
        return
    for it in _behind_tls(view, root, wanted, host, written):
        yield replace(it, asks_for_tls=True) if isinstance(it, nodes.Claim) else it


def _behind_tls(
    view: View,
    root: HTTPProxy,
    wanted: VirtualHost,
    host: guards.HostGuards,
    written: tuple[routes.LocatedRoute, ...],
) -> Iterator[nodes.Claim | IncludedProxy | Problem]:
    place = problems.spec(root.metadata.key).at("virtualhost")
    yield from entrypoints.problems(view, place, "HTTPS", "the host has")
    stream = yield from tcpproxy.stream(view, root)
    if stream is not None:
        stream = yield from streamguards.guarded(view, place, wanted, host, stream)
    try:
        termination = yield from tls.termination(view, place.at("tls"), root)
    except Refused as refused:
        yield refused.problem
        plain = _on_plain_http(view, written, UNSERVED)
        yield _claim(place, guards.CLOSED, plain, (), tls.unserved(place, root))
        return
    is_stream = root.spec.tcpproxy is not None
    is_fallback = yield from fallback.is_fallback(view, place, wanted, is_stream=is_stream)
    secure = tls.secure_host(place, root, termination, stream)
    instead = redirects.to_https(view) if secure is not None else UNSERVED
    plain = _on_plain_http(view, written, instead)
    if secure is None and not is_stream:
        closed = tuple(_instead(it, UNSERVED) for it in written)
        yield _claim(place, host, plain, closed, tls.unserved(place, root))
        return
    if secure is None or secure.stream is not None:
        yield _claim(place, host, plain, (), secure or tls.unserved(place, root))
        return
    found = _claim(place, host, plain, _routes(written), secure)
    yield replace(found, is_fallback=is_fallback)


def _on_plain_http_alone(
    view: View,
    root: HTTPProxy,
    host: guards.HostGuards,
    written: tuple[routes.LocatedRoute, ...],
) -> Iterator[nodes.Claim | Problem]:
    place = problems.spec(root.metadata.key).at("virtualhost")
    yield from entrypoints.problems(view, place, "HTTP", "the host has")
    if root.spec.tcpproxy is not None:
        at = problems.spec(root.metadata.key).at("tcpproxy")
        yield problems.tls_missing(at, "needs virtualhost.tls")
    yield _claim(place, host, _routes(written))


def _claim(
    place: Place,
    host: guards.HostGuards,
    plain: tuple[nodes.Route, ...],
    secure: tuple[nodes.Route, ...] = (),
    secure_host: nodes.SecureHost | None = None,
) -> nodes.Claim:
    policies = (host.policies, *(it.policies for it in (*plain, *secure)))
    return nodes.Claim(
        plain=plain,
        secure=secure,
        tls=secure_host.tls if secure_host is not None and secure_host.stream is None else None,
        origins=(place.subject,),
        is_closed=host.is_closed,
        is_exempt=host.is_exempt,
        lacks_tokens=host.providers.lack(None),
        host=secure_host if secure_host is not None and secure_host.stream is not None else None,
        policies=host.policies,
        jwt_providers=guards.named_providers(host.providers, policies),
    )


def _routes(written: Iterable[routes.LocatedRoute]) -> tuple[nodes.Route, ...]:
    return tuple(it.route for it in written)


_UNGUARDED = nodes.Policies(jwt=nodes.OFF, authorization=nodes.OFF, rate_limits=nodes.OFF)
"""Redirects to TLS let nobody in: they need no guards, nor tokens in the clear."""


UNSERVED = nodes.Respond(503)
"""The answer if TLS cannot be served, and over TLS if clients are not checked."""


def _on_plain_http(
    view: View, written: Iterable[routes.LocatedRoute], instead: nodes.Action
) -> tuple[nodes.Route, ...]:
    is_permitted = not view.ask(settings.disable_permit_insecure, ())
    return tuple(
        it.route if it.permits_plain and is_permitted else _instead(it, instead) for it in written
    )


def _instead(it: routes.LocatedRoute, action: nodes.Action) -> nodes.Route:
    return nodes.Route(it.route.match, action, it.route.origin, policies=_UNGUARDED)
