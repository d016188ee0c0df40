"""Which routes serve a host of a Gateway's listener, and how its TLS is terminated.

Of the listeners on a port, the one with the most specific host name owns a host, and only its
routes answer there (Gateway API, "HTTP Listener Isolation"). So each listener's own host is a
virtual host, perhaps an empty one: where nothing is attached, a wider listener must not answer.
Within a listener the most specific host of its routes takes a request. Elsewhere: the order by
match (`dag.ordering`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from crds.meta import NamespacedName, ObjectRef
from dag import hostnames, nodes, settings, tables
from dag.gateway import attachment, httproute, listeners, redirects, selection
from dag.gateway.attachment import Seat, Section
from dag.gateway.doors import Door
from dag.view import Index, Kept, View, query


@query
def routes(view: View, key: nodes.HostKey) -> tuple[nodes.Route, ...]:
    """The routes of a host: the oldest HTTPRoute first, its rules in the order they are written."""
    found = view.ask(owner, key)
    if found is None:
        return ()
    seniors = sorted(view.bucket(attachment.ATTACHED, Seat(key, found.section)))
    return tuple(
        redirects.completed(route, found.door, key.host)
        for senior in seniors
        for route in view.ask(httproute.rules, senior.key).routes
    )


@query
def tls(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """How TLS for a host is terminated; None on plain HTTP."""
    found = view.ask(owner, key)
    if found is None or found.secret is None:
        return None
    versions = view.ask(settings.tls_versions, ())
    terminated = nodes.Tls(found.secret, versions.minimum, versions.maximum)
    return nodes.SecureHost(terminated, (ObjectRef("Gateway", *found.section.gateway),))


@dataclass(frozen=True, slots=True)
class Owner:
    """The listener to which a host belongs."""

    section: Section
    door: Door
    secret: NamespacedName | None


@query
def owner(view: View, key: nodes.HostKey) -> Owner | None:
    """The listener that owns a host; None for a host that is neither its own nor of a route."""
    for found in view.ask(owners, nodes.ListenerKey(key.fleet, key.listener)):
        if hostnames.covers(found.door.host, key.host):
            is_its_own = found.door.host == key.host
            is_attached = view.count(attachment.ATTACHED, Seat(key, found.section)) > 0
            return found if is_its_own or is_attached else None
    return None


@query
def owners(view: View, key: nodes.ListenerKey) -> tuple[Owner, ...]:
    """The served listeners that share an Envoy listener, the most specific host first."""
    found = [it for it in view.ask(owners_in, key.fleet) if it.door.listener == key.name]
    return tuple(sorted(found, key=lambda it: hostnames.specificity(it.door.host), reverse=True))


@query
def owners_in(view: View, fleet: str) -> tuple[Owner, ...]:
    """The served listeners of a fleet."""
    gateway = view.ask(selection.gateway_of, fleet)
    found = view.ask(listeners.verdicts, gateway) if gateway else ()
    return tuple(
        Owner(Section(gateway, it.door.section), it.door, it.secret)
        for it in found
        if gateway and it.is_served
    )


def _own_host(fleet: str, found: tuple[Owner, ...]) -> Iterator[tuple[nodes.HostKey, None]]:
    return ((nodes.HostKey(fleet, it.door.listener, it.door.host), None) for it in found)


def _owned(key: nodes.HostKey, _: Owner) -> Iterator[tuple[nodes.HostKey, None]]:
    yield key, None


LISTENER_HOSTS: Index[nodes.HostKey, None] = Index("hosts of listeners", owners_in, _own_host)
HOSTS: Index[nodes.HostKey, None] = Index("hosts of Gateways", owner, _owned)

INDEXES = (LISTENER_HOSTS, HOSTS)
KEPT = (
    Kept(owners_in, tables.FLEETS),
    Kept(owner, LISTENER_HOSTS),
    Kept(owner, attachment.ATTACHED, lambda seat: seat.host),
)
