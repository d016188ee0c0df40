"""Completes a route with what only its listener knows: redirect ports, a client certificate.

What a route asks for is computed once, whichever listeners it is attached to (`rules`). It lacks
some things: the port of the listener, whether a policy there asks for retries or limits how long a
request may be silent (`timeouts`), and the certificate that the Gateway shows to backends, to
targets of mirrors and to servers of external authorization (`backendcertificate`).
"""

from collections.abc import Iterator

from crds.meta import NamespacedName
from crds.records import replace
from dag import nodes
from dag.configuration import settings
from dag.engine.view import View
from dag.gateway import backendcertificate, listenerclients, redirects, timeouts
from dag.gateway.servedlisteners import ServedListener


def completed(view: View, route: nodes.Route, owner: ServedListener, host: str) -> nodes.Route:
    """The route as one listener serves it for one host, with the policies of that listener."""
    policies = route.policies
    if policies is not None and isinstance(policies.authorization, nodes.Authorization):
        asked = authorization(view, policies.authorization, owner.gateway)
        if asked is not policies.authorization:
            route = replace(route, policies=replace(policies, authorization=asked))
    match route.action:
        case nodes.Redirect():
            return redirects.completed(route, owner, host)
        case nodes.Forward() as forward:
            found = _timed(view, forward, owner)
            if _speaks_tls(found):
                found = _showing(view, found, owner.gateway)
            return route if found is forward else replace(route, action=found)
        case _:
            return route


def _timed(view: View, forward: nodes.Forward, owner: ServedListener) -> nodes.Forward:
    """The action with its limits of time; only where one matters it depends on who else has set
    one."""
    settled = timeouts.settled(forward)
    lasting = timeouts.lasting(settled)
    return settled if lasting is not settled and _limits_silence(view, owner) else lasting


def _limits_silence(view: View, owner: ServedListener) -> bool:
    """Whether a request may not be silent for longer than somebody has said for the listener."""
    is_configured = view.ask(settings.timeouts, ()).stream_idle is not None
    return is_configured or listenerclients.of_routes(view, owner).limits_silence


def authorization(
    view: View, asked: nodes.Authorization, gateway: NamespacedName
) -> nodes.Authorization:
    """External authorization, with the certificate of a Gateway for the server."""
    if not isinstance(asked.cluster, nodes.Cluster):
        return asked
    cluster = backendcertificate.with_certificate(view, asked.cluster, gateway)
    return asked if cluster is asked.cluster else replace(asked, cluster=cluster)


def completed_stream(view: View, stream: nodes.Stream, owner: ServedListener) -> nodes.Stream:
    """The stream as one listener serves it."""
    if not any(it.cluster is not None and it.cluster.tls is not None for it in stream.shares):
        return stream
    shares = (
        it._replace(cluster=backendcertificate.with_certificate(view, it.cluster, owner.gateway))
        if it.cluster is not None
        else it
        for it in stream.shares
    )
    return replace(stream, shares=tuple(shares))


def _speaks_tls(forward: nodes.Forward) -> bool:
    return any(it.tls is not None for it in _clusters(forward))


def _clusters(forward: nodes.Forward) -> Iterator[nodes.Cluster]:
    yield from (it.cluster for it in forward.backends if it.cluster is not None)
    yield from (it.cluster for it in forward.mirrors)


def _showing(view: View, forward: nodes.Forward, gateway: NamespacedName) -> nodes.Forward:
    backends = (
        replace(it, cluster=backendcertificate.with_certificate(view, it.cluster, gateway))
        if it.cluster is not None
        else it
        for it in forward.backends
    )
    mirrors = (
        it._replace(cluster=backendcertificate.with_certificate(view, it.cluster, gateway))
        for it in forward.mirrors
    )
    return replace(forward, backends=tuple(backends), mirrors=tuple(mirrors))
