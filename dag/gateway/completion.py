"""What a route gets from the listener that serves it: ports of redirects, a client certificate.

What a route asks for is worked out once, whichever listeners it is attached to (`rules`). Two
things it cannot know: the port of the listener, and the certificate that the Gateway shows to
backends (GEP-3155).
"""

from crds.meta import NamespacedName
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import backendcertificate, redirects
from dag.gateway.servedlisteners import ServedListener


def completed(view: View, route: nodes.Route, owner: ServedListener, host: str) -> nodes.Route:
    """The route as one listener serves it for one host."""
    match route.action:
        case nodes.Redirect():
            return redirects.completed(route, owner, host)
        case nodes.Forward() as forward if _speaks_tls(forward):
            secret = view.ask(backendcertificate.secret, owner.gateway)
            return route if secret is None else replace(route, action=_showing(forward, secret))
        case _:
            return route


def completed_stream(view: View, stream: nodes.Stream, owner: ServedListener) -> nodes.Stream:
    """The stream as one listener serves it: what is passed on is encrypted already."""
    if not any(it.cluster is not None and it.cluster.tls is not None for it in stream.shares):
        return stream
    secret = view.ask(backendcertificate.secret, owner.gateway)
    shares = (
        it._replace(cluster=_with(it.cluster, secret) if owner.terminates else _bare(it.cluster))
        for it in stream.shares
    )
    return replace(stream, shares=tuple(shares))


def _bare(cluster: nodes.Cluster | None) -> nodes.Cluster | None:
    return replace(cluster, tls=None) if cluster is not None else None


def _speaks_tls(forward: nodes.Forward) -> bool:
    clusters = (*(it.cluster for it in forward.backends), *(it.cluster for it in forward.mirrors))
    return any(it is not None and it.tls is not None for it in clusters)


def _showing(forward: nodes.Forward, secret: NamespacedName) -> nodes.Forward:
    backends = (replace(it, cluster=_with(it.cluster, secret)) for it in forward.backends)
    mirrors = (
        it._replace(cluster=_with(it.cluster, secret) or it.cluster) for it in forward.mirrors
    )
    return replace(forward, backends=tuple(backends), mirrors=tuple(mirrors))


def _with(cluster: nodes.Cluster | None, secret: NamespacedName | None) -> nodes.Cluster | None:
    if cluster is None or cluster.tls is None or secret is None:
        return cluster
    return replace(cluster, tls=replace(cluster.tls, client_certificate=secret))
