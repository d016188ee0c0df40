"""Filters of Gateway listeners in the chains of an Envoy listener, and the hosts they are for.

Listeners of Gateways on one port share an Envoy listener. A request belongs to the listener with
the most specific host that covers the request's host, even if it matches no route there. So each
filter has the host of its listener, and as exceptions the narrower hosts of other listeners. Those
are read only if a listener has filters.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crds.meta import NamespacedName, ObjectRef
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import completion, listeners, listenersets, servedlisteners
from dag.gateway.listenerspecs import Section
from dag.gateway.servedlisteners import ServedListener
from dag.values import hostnames


class Filtered(NamedTuple):
    """A listener with filters."""

    section: Section
    host: nodes.HostKey
    servers: tuple[nodes.Authorization, ...]


@query
def filtered(view: View, holder: ObjectRef) -> tuple[Filtered, ...]:
    """The served listeners of a Gateway or ListenerSet that have filters."""
    wanted = {it.spec.section: it.filters for it in view.ask(listeners.states, holder)}
    if not any(wanted.values()):
        return ()
    return tuple(
        Filtered(it.section, it.host, _servers(view, wanted[it.section], it.gateway))
        for it in view.ask(servedlisteners.served, holder)
        if wanted[it.section]
    )


def _servers(
    view: View, wanted: Iterable[nodes.Authorization], gateway: NamespacedName
) -> tuple[nodes.Authorization, ...]:
    return tuple(completion.authorization(view, it, gateway) for it in wanted)


@query
def filters(view: View, key: nodes.ListenerKey) -> tuple[nodes.ListenerFilter, ...]:
    """The filters of an Envoy listener: those of each Gateway's listener in their order."""
    found = sorted(view.bucket(FILTERED, key), key=lambda it: it.section)
    return tuple(made for it in found for made in _made(view, key, it))


def _made(view: View, key: nodes.ListenerKey, found: Filtered) -> Iterator[nodes.ListenerFilter]:
    own = found.host.host
    beside = set(view.bucket(HOSTS, key)) - {own}
    exceptions = tuple(sorted(it for it in beside if hostnames.covers(own, it)))
    holder, name = found.section
    place = "/".join((holder.kind.lower(), holder.namespace, holder.name, name))
    for index, it in enumerate(found.servers):
        yield nodes.ListenerFilter(f"{place}/{index}", own, exceptions, it, holder)


def _listener(of: nodes.HostKey) -> nodes.ListenerKey:
    return nodes.ListenerKey(of.fleet, of.listener)


def _filtered(
    _: ObjectRef, found: tuple[Filtered, ...]
) -> Iterator[tuple[nodes.ListenerKey, Filtered]]:
    return ((_listener(it.host), it) for it in found)


def _host(
    _: ObjectRef, found: tuple[ServedListener, ...]
) -> Iterator[tuple[nodes.ListenerKey, str]]:
    return ((_listener(it.host), it.host.host) for it in found if it.is_http)


FILTERED: Index[nodes.ListenerKey, Filtered] = Index("listeners with filters", filtered, _filtered)
HOSTS: Index[nodes.ListenerKey, str] = Index(
    "hosts of HTTP listeners", servedlisteners.served, _host
)

INDEXES = (FILTERED, HOSTS)
KEPT = (
    Kept(filtered, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(filtered, tables.LISTENER_SETS, listenersets.ref),
    Kept(filters, FILTERED),
)
