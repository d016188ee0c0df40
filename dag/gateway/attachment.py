"""Where a route is attached: which listeners of its parents take it, and for which hosts.

Three stages; the one that leaves no listener names the reason (Gateway API, "Attaching to
Gateways" and "Hostname intersection"): the parent reference selects listeners by name and port;
they admit kinds and namespaces; their host names have to intersect the route's. Asked once per
route: listeners and hosts find their routes through the indexes, so a Gateway with thousands of
routes is never walked. Elsewhere: which listener owns a host in the end (`hosts`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from crds.gateway.httproute import HTTPRoute
from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName
from dag import hostnames, nodes, tables
from dag.gateway import doors, httproute, namespaces, selection
from dag.gateway.doors import Door
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.seniority import Senior, senior
from dag.statuses import RouteKind
from dag.view import Index, Kept, View, query


class Section(NamedTuple):
    """One listener of a Gateway."""

    gateway: NamespacedName
    name: str


class Seat(NamedTuple):
    """A host, and the listener through which routes are attached to it."""

    host: nodes.HostKey
    section: Section


@dataclass(frozen=True, slots=True)
class Parent:
    """What became of one parent reference of a route."""

    reference: ParentReference
    sections: tuple[Section, ...] = ()
    """The listeners that count the route as attached: none, if no rule of it is accepted."""
    seats: tuple[Seat, ...] = ()
    refusal: Problem | None = None
    """Why the route is attached nowhere."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What became of the parent references of a route that are for us to judge."""

    route: Senior
    parents: tuple[Parent, ...]


@query
def attachment(view: View, key: NamespacedName) -> Attachment | None:
    """Where a route is attached; None if no parent is ours."""
    route = view.read(tables.HTTPROUTES, key)
    if route is None:
        return None
    parents = tuple(_parents(view, route))
    return Attachment(senior(route.metadata), parents) if parents else None


def _parents(view: View, route: HTTPRoute) -> Iterator[Parent]:
    own = route.metadata.namespace
    for reference in route.spec.parent_refs:
        if (reference.group, reference.kind) == (GROUP, "Gateway"):
            gateway = NamespacedName(reference.namespace or own, reference.name)
            if view.ask(selection.is_ours, gateway):
                yield _parent(view, route, reference, gateway)


def _parent(
    view: View, route: HTTPRoute, reference: ParentReference, gateway: NamespacedName
) -> Parent:
    own = problems.route(KIND.kind, route.metadata.key)
    fleet = view.ask(selection.fleet, gateway)
    if fleet is None:
        return Parent(reference, refusal=problems.gateway_waits(own, gateway))
    selected = [it for it in view.ask(doors.doors, gateway) if _is_selected(it, reference)]
    if not selected:
        return Parent(reference, refusal=problems.no_matching_parent(own, gateway))
    admitting = [
        it for it in selected if _admits(view, it, gateway.namespace, route.metadata.namespace)
    ]
    if not admitting:
        return Parent(reference, refusal=problems.not_allowed_by_listeners(own, gateway))
    seats = tuple(_seats(fleet, gateway, admitting, route.spec.hostnames))
    if not seats:
        return Parent(reference, refusal=problems.no_matching_listener_hostname(own, gateway))
    counted = seats if view.ask(httproute.is_accepted, route.metadata.key) else ()
    return Parent(reference, tuple(dict.fromkeys(it.section for it in counted)), seats)


def _is_selected(door: Door, reference: ParentReference) -> bool:
    return reference.section_name in (None, door.section) and reference.port in (None, door.port)


KIND = RouteKind("HTTPRoute", GROUP)


def _admits(view: View, door: Door, own: str, namespace: str) -> bool:
    return KIND in door.kinds and namespaces.admits(view, door.namespaces, own, namespace)


def _seats(
    fleet: str, gateway: NamespacedName, admitting: Iterable[Door], wanted: tuple[str, ...]
) -> Iterator[Seat]:
    for door in admitting:
        section = Section(gateway, door.section)
        for host in _hosts(door.host, wanted):
            yield Seat(nodes.HostKey(fleet, door.listener, host), section)


def _hosts(served: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    if not wanted:
        return (served,)
    names = (it for it in wanted if not hostnames.refusal(it))
    common = (hostnames.intersection(served, it) for it in names)
    return tuple(dict.fromkeys(it for it in common if it is not None))


def _by_seat(_: NamespacedName, found: Attachment) -> Iterator[tuple[Seat, Senior]]:
    return ((seat, found.route) for parent in found.parents for seat in parent.seats)


def _by_section(_: NamespacedName, found: Attachment) -> Iterator[tuple[Section, NamespacedName]]:
    return ((section, found.route.key) for parent in found.parents for section in parent.sections)


ATTACHED: Index[Seat, Senior] = Index("routes attached to a host", attachment, _by_seat)
COUNTED: Index[Section, NamespacedName] = Index(
    "routes attached to a listener", attachment, _by_section
)

INDEXES = (ATTACHED, COUNTED)
KEPT = (Kept(attachment, tables.HTTPROUTES),)
