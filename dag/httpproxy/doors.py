"""What plain HTTP and TLS get of a root's routes.

On a TLS host, plain HTTP is redirected wherever a route does not permit it, also when TLS itself
cannot be served: what was meant for TLS never goes in the clear. A virtual host that is guarded
by a field that is not served yet answers 503. Source: HTTPProxy reference, "VirtualHost",
"Route.permitInsecure".
"""

from collections.abc import Iterable, Iterator

from crds.httpproxy import HTTPProxy
from crds.unserved import unserved
from dag import listeners, nodes, redirects, settings
from dag.httpproxy import routes, tls
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.view import View


def claim(
    view: View, root: HTTPProxy, written: Iterable[routes.Written]
) -> Iterator[nodes.Claim | Problem]:
    """What the root wants for its host."""
    place, host = problems.spec(root.metadata.key).at("virtualhost"), root.spec.virtualhost
    if host is None:
        return
    is_closed = any(it.guards for it in unserved(host))
    found = _guarded(written) if is_closed else tuple(written)
    if host.tls is None:
        if view.ask(listeners.plain_listener, ()) is None:
            yield problems.no_listener(place, "HTTP")
        yield nodes.Claim(_routes(found), origins=(place.subject,), is_closed=is_closed)
        return
    termination = yield from tls.termination(view, place.at("tls"), host.tls)
    if termination is not None and view.ask(listeners.secure_listener, ()) is None:
        yield problems.no_listener(place, "HTTPS")
    # The bytes of a tcpproxy are not HTTP: until it is served, its host is not served over TLS.
    is_secure = termination is not None and root.spec.tcpproxy is None
    yield nodes.Claim(
        plain=tuple(_on_plain_http(view, it) for it in found),
        secure=_routes(found) if is_secure else (),
        tls=termination if is_secure else None,
        origins=(place.subject,),
        is_closed=is_closed,
    )


def _routes(written: Iterable[routes.Written]) -> tuple[nodes.Route, ...]:
    return tuple(it.route for it in written)


def _guarded(written: Iterable[routes.Written]) -> tuple[routes.Written, ...]:
    return tuple(
        it._replace(route=nodes.Route(it.route.match, routes.GUARDED, it.route.origin))
        for it in written
    )


def _on_plain_http(view: View, written: routes.Written) -> nodes.Route:
    if written.permits_plain and not view.ask(settings.disable_permit_insecure, ()):
        return written.route
    return nodes.Route(written.route.match, redirects.to_https(view), written.route.origin)
