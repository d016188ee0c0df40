"""Queries that ask for the endpoints of all Service ports to which traffic goes.

Normally the translation for Envoy asks for the endpoints that it needs. `PLAN` replaces it where
nothing is translated (`contour analyze`, `contour status` of manifests), so that missing endpoints
are reported there as well. Backends of guards are ExtensionServices, which report their endpoints
elsewhere.
"""

from collections.abc import Iterable

from dag import hosts, listeners, nodes, services
from dag.engine.view import Index, Kept, Plan, View, query


@query
def of_host(view: View, key: nodes.HostKey) -> None:
    """Asks for the endpoints that the requests of a host go to."""
    found = view.ask(hosts.virtual_host, key)
    for route in found.routes if found is not None else ():
        if isinstance(route.action, nodes.Forward):
            _demand(view, (it.cluster for it in route.action.backends if it.weight))
            _demand(view, (it.cluster for it in route.action.mirrors))


@query
def of_stream(view: View, key: nodes.HostKey) -> None:
    """Asks for the endpoints that the TLS connections of a host go to."""
    found = view.ask(hosts.secure_host, key)
    _demand_stream(view, found.stream if found is not None else None)


@query
def of_listener(view: View, key: nodes.ListenerKey) -> None:
    """Asks for the endpoints that the connections or datagrams of a port go to."""
    found = view.ask(listeners.listener, key)
    _demand_stream(view, found.stream if found is not None else None)


def _demand_stream(view: View, found: nodes.Stream | None) -> None:
    if found is not None:
        _demand(view, (it.cluster for it in found.shares if it.weight))


def _demand(view: View, clusters: Iterable[nodes.Cluster | None]) -> None:
    for it in clusters:
        if it is not None and it.dns is None:
            for port in (it.port, *(member.port for member in it.members)):
                view.demand(services.endpoints, port)


HOSTS: Index[nodes.HostKey, None] = Index(
    "hosts that are reached", hosts.virtual_host, lambda key, _: [(key, None)]
)
STREAMS: Index[nodes.HostKey, None] = Index(
    "streams behind TLS that are reached",
    hosts.secure_host,
    lambda key, found: [(key, None)] if found.stream is not None else [],
)

PLAN = Plan(
    indexes=(HOSTS, STREAMS),
    kept=(Kept(of_host, HOSTS), Kept(of_stream, STREAMS), Kept(of_listener, listeners.NAMES)),
)
"""What the engine maintains instead of the translation for Envoy."""
