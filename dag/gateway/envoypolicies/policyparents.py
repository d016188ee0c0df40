"""What targets of policies belong to: their Gateways, and the listeners and exported Services that
are the parents of routes. Whether these accept a route is not looked at."""

from collections.abc import Iterator

from crds.gateway.references import GROUP
from crds.meta import NamespacedName, ObjectRef
from dag import exports, tables
from dag.engine.view import View, query
from dag.gateway import listenersets, routeparents, selection

HOLDERS = ("Gateway", "ListenerSet")
CALLED = "GRPCRoute"
"""The kind of routes that gRPC clients without a proxy follow, if their parent is a Service."""


@query
def gateways(view: View, ref: ObjectRef) -> tuple[NamespacedName, ...]:
    """The Gateways of ours that a target is, belongs to or has as its parents; sorted."""
    if ref.kind in HOLDERS:
        named = [_served(view, ref)]
    else:
        named = [_served(view, holder) for holder, _ in _parents(view, ref)]
    return tuple(sorted({it for it in named if it is not None}))


@query
def sections(view: View, ref: ObjectRef) -> frozenset[str] | None:
    """The names of the listeners or rules of a target; None if there is no such object."""
    found = view.read(tables.BY_KIND[ref.kind], ref.key)
    if found is None:
        return None
    parts = found.spec.listeners if ref.kind in HOLDERS else found.spec.rules
    return frozenset(it.name for it in parts if it.name)


def has_section(view: View, ref: ObjectRef, section: str) -> bool:
    """Whether a target has a listener or rule of this name; the empty name is the whole target."""
    return not section or section in (view.ask(sections, ref) or ())


def listeners(view: View, route: ObjectRef) -> Iterator[tuple[NamespacedName, ObjectRef, str]]:
    """The Gateway, holder and name of each listener of ours that a route has as a parent."""
    for holder, section in _parents(view, route):
        gateway = _served(view, holder)
        if gateway is not None:
            names = (section,) if section else sorted(view.ask(sections, holder) or ())
            yield from ((gateway, holder, it) for it in names)


@query
def services(view: View, ref: ObjectRef) -> tuple[NamespacedName, ...]:
    """The exported Services that a route names as its parents; sorted."""
    found = view.read(tables.GRPCROUTES, ref.key) if ref.kind == CALLED else None
    parents = found.spec.parent_refs if found is not None else ()
    named = {
        NamespacedName(it.namespace or ref.namespace, it.name)
        for it in parents
        if (it.group, it.kind) == ("", "Service")
    }
    return tuple(sorted(it for it in named if view.ask(exports.export, it) is not None))


def _parents(view: View, route: ObjectRef) -> Iterator[tuple[ObjectRef, str]]:
    found = view.read(tables.BY_KIND[route.kind], route.key)
    for it in routeparents.of(view, found.spec, route.namespace) if found is not None else ():
        if it.group == GROUP:
            holder = ObjectRef(it.kind, it.namespace or route.namespace, it.name)
            yield holder, it.section_name or ""


def _served(view: View, holder: ObjectRef) -> NamespacedName | None:
    """The Gateway of ours that an object is or belongs to."""
    if holder.kind == "Gateway":
        return holder.key if view.ask(selection.is_ours, holder.key) else None
    if holder.kind == "ListenerSet":
        admitted = view.ask(listenersets.admission, holder.key)
        return admitted.gateway if admitted is not None else None
    return None
