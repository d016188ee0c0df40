"""GRPCRoutes whose parent is a Service that gRPC clients may call (GEP-1426, "Service").

Such a route shapes calls to the Service, for all of its clients. A Service that is not exported may
be a parent in another mesh, so we ignore it. Routes in a namespace other than the Service's
("consumer routes") are refused: they would have to apply to the clients of that namespace alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from dag import exports, tables
from dag.engine.view import Index, Kept, View, query
from dag.exports import ExportedPort
from dag.gateway.attachment import RankedRoute
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.seniority import senior


@dataclass(frozen=True, slots=True)
class ServiceParent:
    """What became of one reference of a route to an exported Service."""

    reference: ParentReference
    ports: tuple[ExportedPort, ...] = ()
    """The ports whose calls the route shapes, even with rules that cannot be served; none if it is
    refused."""
    refusal: Problem | None = None


@dataclass(frozen=True, slots=True)
class ServiceAttachment:
    """What became of the references of a route to exported Services."""

    route: RankedRoute
    parents: tuple[ServiceParent, ...]


@query
def service_attachment(view: View, ref: ObjectRef) -> ServiceAttachment | None:
    """The exported Services that a GRPCRoute is attached to; None if it names none."""
    route = view.read(tables.GRPCROUTES, ref.key) if ref.kind == KIND else None
    if route is None:
        return None
    parents = tuple(_parents(view, ref, route.spec.parent_refs))
    ranked = RankedRoute(senior(route.metadata), ref.kind)
    return ServiceAttachment(ranked, parents) if parents else None


KIND = "GRPCRoute"


def _parents(
    view: View, ref: ObjectRef, references: tuple[ParentReference, ...]
) -> Iterator[ServiceParent]:
    for it in references:
        if (it.group, it.kind) != ("", "Service"):
            continue
        key = NamespacedName(it.namespace or ref.namespace, it.name)
        found = view.ask(exports.export, key)
        if found is not None:
            yield _parent(ref, it, key, found)


def _parent(
    ref: ObjectRef,
    reference: ParentReference,
    key: NamespacedName,
    found: exports.Export,
) -> ServiceParent:
    own, holder = problems.route(ref), ObjectRef("Service", *key)
    if key.namespace != ref.namespace:
        return ServiceParent(reference, refusal=problems.route_of_other_namespace(own, holder))
    ports = tuple(
        ExportedPort(key, it.port)
        for it in found.ports
        if reference.port in (None, it.port) and reference.section_name in (None, it.port_name)
    )
    if not ports:
        return ServiceParent(reference, refusal=problems.no_matching_port(own, holder))
    return ServiceParent(reference, ports)


def _ref(key: NamespacedName) -> ObjectRef:
    return ObjectRef(KIND, *key)


def _by_port(_: ObjectRef, found: ServiceAttachment) -> Iterator[tuple[ExportedPort, RankedRoute]]:
    return ((port, found.route) for parent in found.parents for port in parent.ports)


SHAPING: Index[ExportedPort, RankedRoute] = Index(
    "routes that shape calls to a Service", service_attachment, _by_port
)

INDEXES = (SHAPING,)
KEPT = (Kept(service_attachment, tables.GRPCROUTES, _ref),)
