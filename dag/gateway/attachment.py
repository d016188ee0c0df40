"""Attachment of routes: which listeners of its parents accept a route, and for which hosts.

There are three stages (Gateway API, "Attaching to Gateways" and "Hostname intersection"): the
parent reference selects listeners by name and port; they admit kinds and namespaces; their host
names have to intersect the route's. The first stage that leaves no listener gives the reason. This
is computed once per route: listeners and hosts find their routes through the indexes, so a Gateway
with thousands of routes is never walked. Elsewhere: which listener owns a host in the end
(`servedlisteners`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.gateway import listenersets, listenerspecs, namespaces, routeparents, routes, selection
from dag.gateway.listenerspecs import ListenerSpec, Section
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.seniority import Senior, senior
from dag.statuses import RouteKind
from dag.values import hostnames


class AttachmentPoint(NamedTuple):
    """A host, and the listener through which routes are attached to it."""

    host: nodes.HostKey
    section: Section


class RankedRoute(NamedTuple):
    """A route in the order of precedence: the older one first, whatever its kind."""

    senior: Senior
    kind: str

    @property
    def ref(self) -> ObjectRef:
        """The route."""
        return ObjectRef(self.kind, *self.senior.key)


class Candidate(NamedTuple):
    """A route in the order of precedence on one host: by its own host name, then by age."""

    width: int
    """How many labels of the host the route's own host name leaves to its wildcard; 0 if they are
    equal (GatewayRouteHostnameIntersectionPrecedence)."""
    route: RankedRoute


@dataclass(frozen=True, slots=True)
class Parent:
    """What became of one parent reference of a route."""

    reference: ParentReference
    gateway: NamespacedName
    """The Gateway that the reference names, directly or by a ListenerSet of it."""
    sections: tuple[Section, ...] = ()
    """The listeners that count the route as attached: none, if no rule of it is accepted."""
    points: tuple[AttachmentPoint, ...] = ()
    overridable: tuple[nodes.HostKey, ...] = ()
    """The hosts for which the route may bring a certificate."""
    refusal: Problem | None = None
    """Why the route is attached nowhere."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What became of the parent references of a route to Gateways and ListenerSets of ours."""

    route: RankedRoute
    parents: tuple[Parent, ...]
    hosts: tuple[str, ...] = ()
    """The host names that the route gives; if empty, every host."""

    def idle_hosts(self) -> Iterator[tuple[int, str]]:
        """The index of each host name that has no effect at any parent, and why."""
        served = {point.host.host for parent in self.parents for point in parent.points}
        for index, name in enumerate(self.hosts):
            if refusal := hostnames.refusal(name):
                yield index, f"{name!r} {refusal}"
            elif not any(hostnames.covers(name, it) for it in served):
                yield index, f"{name!r} matches the hostname of no listener that takes the route"

    def on(self, host: str) -> Candidate:
        """The place of the route on a host to which it is attached."""
        given = (it for it in self.hosts or (hostnames.EVERY,) if hostnames.covers(it, host))
        nearest = max(map(_labels, given), default=0)
        return Candidate(_labels(host) - nearest, self.route)


def _labels(host: str) -> int:
    """How many labels a host names."""
    return len([it for it in host.split(".") if it != "*"])


@query
def attachment(view: View, ref: ObjectRef) -> Attachment | None:
    """Where a route is attached; None if no parent is ours."""
    route = view.read(tables.BY_KIND[ref.kind], ref.key)
    if route is None:
        return None
    hosts: tuple[str, ...] = getattr(route.spec, "hostnames", ())
    wanted = routeparents.of(view, route.spec, ref.namespace)
    parents = tuple(_parents(view, ref, wanted, hosts))
    ranked = RankedRoute(senior(route.metadata), ref.kind)
    return Attachment(ranked, parents, hosts) if parents else None


def _parents(
    view: View, ref: ObjectRef, references: Iterable[ParentReference], hosts: tuple[str, ...]
) -> Iterator[Parent]:
    for reference in references:
        key = NamespacedName(reference.namespace or ref.namespace, reference.name)
        match reference.group, reference.kind:
            case group, "Gateway" if group == GROUP and view.ask(selection.is_ours, key):
                refusal = None
                if view.ask(selection.fleet, key) is None:
                    refusal = problems.gateway_waits(problems.route(ref), key)
                yield _parent(view, ref, reference, key, hosts, refusal)
            case group, "ListenerSet" if group == GROUP:
                admission = view.ask(listenersets.admission, key)
                if admission is not None:
                    refusal = None
                    if admission.refusal is not None:
                        refusal = problems.listener_set_waits(problems.route(ref), key)
                    yield _parent(view, ref, reference, admission.gateway, hosts, refusal)
            case _:
                pass  # a parent of another controller


def _parent(
    view: View,
    ref: ObjectRef,
    reference: ParentReference,
    gateway: NamespacedName,
    hosts: tuple[str, ...],
    refusal: Problem | None,
) -> Parent:
    if refusal is not None:
        return Parent(reference, gateway, refusal=refusal)
    own = problems.route(ref)
    holder = ObjectRef(reference.kind, reference.namespace or ref.namespace, reference.name)
    selected = [it for it in view.ask(listenerspecs.specs, holder) if _is_selected(it, reference)]
    if not selected:
        return Parent(reference, gateway, refusal=problems.no_matching_parent(own, holder))
    taking = [it for it in selected if RouteKind(ref.kind, GROUP) in it.kinds]
    if not taking:
        kinds = sorted({kind.kind for it in selected for kind in it.kinds})
        return Parent(reference, gateway, refusal=problems.kind_not_taken(own, holder, kinds))
    admitting = [it for it in taking if _admits(view, it, ref)]
    if not admitting:
        return Parent(reference, gateway, refusal=problems.not_allowed_by_listeners(own, holder))
    fleet = view.ask(selection.fleet, gateway) or ""
    points = tuple(_points(fleet, admitting, hosts))
    if not points:
        served = sorted({it.host for it in admitting})
        refused = next((f": {it!r} {why}" for it in hosts if (why := hostnames.refusal(it))), "")
        refusal = problems.no_matching_listener_hostname(own, holder, served, refused)
        return Parent(reference, gateway, refusal=refusal)
    counted = points if view.ask(routes.is_accepted, ref) else ()
    allowing = {it.section for it in admitting if it.allows_certificates}
    return Parent(
        reference,
        gateway,
        tuple(dict.fromkeys(it.section for it in counted)),
        points,
        tuple(it.host for it in points if it.section in allowing),
    )


def _is_selected(spec: ListenerSpec, reference: ParentReference) -> bool:
    return reference.section_name in (None, spec.section.name) and (
        reference.port in (None, spec.port)
    )


def _admits(view: View, spec: ListenerSpec, ref: ObjectRef) -> bool:
    own = spec.section.holder.namespace
    return namespaces.admits(view, spec.namespaces, own, ref.namespace)


def _points(
    fleet: str, admitting: Iterable[ListenerSpec], wanted: tuple[str, ...]
) -> Iterator[AttachmentPoint]:
    for spec in admitting:
        for host in _hosts(spec.host, wanted):
            yield AttachmentPoint(nodes.HostKey(fleet, spec.listener, host), spec.section)


def _hosts(served: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    if not wanted:
        return (served,)
    names = (it for it in wanted if not hostnames.refusal(it))
    common = (hostnames.intersection(served, it) for it in names)
    return tuple(dict.fromkeys(it for it in common if it is not None))


def _by_point(_: ObjectRef, found: Attachment) -> Iterator[tuple[AttachmentPoint, Candidate]]:
    points = (point for parent in found.parents for point in parent.points)
    return ((point, found.on(point.host.host)) for point in points)


def _by_section(_: ObjectRef, found: Attachment) -> Iterator[tuple[Section, ObjectRef]]:
    return ((section, found.route.ref) for parent in found.parents for section in parent.sections)


ATTACHED: Index[AttachmentPoint, Candidate] = Index(
    "routes attached to a host", attachment, _by_point
)
COUNTED: Index[Section, ObjectRef] = Index("routes attached to a listener", attachment, _by_section)

INDEXES = (ATTACHED, COUNTED)
KEPT = routes.kept(attachment)
