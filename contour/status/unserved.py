"""Why an object has no status: it is for another controller, or a name in it is misspelt.

It is shown on the command line only. In a cluster, such objects may belong to other controllers, so
nothing is written to the API server.
"""

from collections.abc import Iterable, Iterator

from contour.status.rows import Row, Told
from crds.gateway.gateway import Gateway
from crds.gateway.gatewayclass import GatewayClass
from crds.gateway.listenerset import ListenerSet, ParentGatewayReference
from crds.gateway.references import GROUP, ParentReference
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress
from crds.meta import NamespacedName, ObjectRef
from dag import classes, hints, tables
from dag.configuration import settings
from dag.engine.view import View
from dag.gateway import routes, selection
from dag.ingress.classes import CONTROLLER, default_class
from dag.problems.reasons import CommandLine

_REASON = CommandLine.NotServed


def row(view: View, subject: ObjectRef) -> Row:
    """The row of an existing object without a status."""
    return Row(subject, "warning", "not served", tuple(map(_told, _reasons(view, subject))))


def missing_parents(view: View, subject: ObjectRef) -> tuple[Told, ...]:
    """The parents of a route with a status that do not exist, which it does not tell. They are
    known only where all objects are: on one machine and offline."""
    if subject.kind not in routes.KINDS or not view.read(hints.GIVEN, ()):
        return ()
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    references = found.spec.parent_refs if found is not None else ()
    named = (ObjectRef(it.kind, it.namespace or subject.namespace, it.name) for it in references)
    missing = (
        (f"spec.parentRefs[{index}].name", _not_found(view, ref))
        for index, ref in enumerate(named)
        if (references[index].group, ref.kind) in _PARENTS
        and view.read(tables.BY_KIND[ref.kind], ref.key) is None
    )
    return tuple(map(_told, missing))


Reason = tuple[str, str]
"""The path of a field, and what is wrong with it."""


def _told(reason: Reason) -> Told:
    field, why = reason
    return Told(": ".join(filter(None, reason)), "warning", why, "", _REASON, field)


def _reasons(view: View, subject: ObjectRef) -> Iterator[Reason]:
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    match found:
        case GatewayClass():
            yield "spec.controllerName", _other_controller(view, found)
        case Gateway():
            yield "spec.gatewayClassName", _other_class(view, found)
        case Ingress() | HTTPProxy() if view.ask(settings.gateways_only, ()):
            yield "", _ONLY_GATEWAYS
        case Ingress():
            yield from _ingress(view, found)
        case HTTPProxy():
            yield from _named_class(view, found)
        case ListenerSet():
            yield from _parents(view, subject.namespace, "spec.parentRef", [found.spec.parent_ref])
        case _ if found is not None and subject.kind in routes.KINDS:
            references = found.spec.parent_refs
            if not references:
                yield "spec.parentRefs", "names no Gateway"
            yield from _parents(view, subject.namespace, "spec.parentRefs", references)
        case _:
            yield "", _OTHERS.get(subject.kind, "not for this controller")


_ONLY_GATEWAYS = "the configuration in force serves Gateways alone (`spec.gateway.only`)"

_OTHERS = {
    "BackendTLSPolicy": "no route that is served leads to the Services that it is for",
    "XTelemetryPolicy": "names no Gateway that is served",
    "XBackend": "no route that is served leads to it",
    "XBackendTrafficPolicy": "no route that is served leads to the backends that it is for",
    "Backend": "no route that is served leads to it",
    "ContourConfiguration": "another ContourConfiguration is in force",
}


def _other_controller(view: View, found: GatewayClass) -> str:
    ours, named = view.ask(settings.controller_name, ()), found.spec.controller_name
    if not ours:
        return _NO_GATEWAYS
    meant = " (a typing error?)" if _is_misspelt(named, ours) else ""
    return f"{named} is another controller; this one is {ours}{meant}"


def _is_misspelt(named: str, ours: str) -> bool:
    """Whether the domain is almost ours, too: behind it most controllers are called alike."""
    domains = [it.partition("/")[0] for it in (named, ours)]
    return bool(hints.similar(named, [ours]) and hints.similar(domains[0], domains[1:]))


_NO_GATEWAYS = "the ContourConfiguration in force has no `spec.gateway`, so no Gateway is served"


def _other_class(view: View, found: Gateway) -> str:
    name = found.spec.gateway_class_name
    named = view.read(tables.GATEWAY_CLASSES, NamespacedName("", name))
    if named is None:
        hint = hints.hint(view, ObjectRef("GatewayClass", "", name))
        return f"GatewayClass {name} not found{hint}"
    ours = view.ask(settings.controller_name, ())
    if not ours:
        return _NO_GATEWAYS
    if named.spec.controller_name != ours:
        return f"GatewayClass {name} is of controller {named.spec.controller_name}, not of {ours}"
    return f"GatewayClass {name} is not served"


_PARENTS = frozenset({(GROUP, "Gateway"), (GROUP, "ListenerSet")})


def _parents(
    view: View, own: str, path: str, references: Iterable[ParentReference | ParentGatewayReference]
) -> Iterator[Reason]:
    for index, it in enumerate(references):
        at = path if path.endswith("parentRef") else f"{path}[{index}]"
        ref = ObjectRef(it.kind, it.namespace or own, it.name)
        if (it.group, it.kind) not in _PARENTS:
            yield at, f"parents of kind {it.kind} are not supported; use Gateway or ListenerSet"
            continue
        found = view.read(tables.BY_KIND[it.kind], ref.key)
        if found is None:
            yield f"{at}.name", _not_found(view, ref)
        elif it.kind == "Gateway" and not view.ask(selection.is_ours, ref.key):
            yield at, f"{ref} is not served: {_other_class(view, found)}"
        else:
            yield at, f"{ref} is not served; its status says why"


def _not_found(view: View, ref: ObjectRef) -> str:
    return f"{ref} not found{hints.hint(view, ref)}"


def _named_class(view: View, found: HTTPProxy | Ingress) -> Iterator[Reason]:
    """The class of an Ingress or HTTPProxy, from its annotation or field."""
    field = "spec.ingressClassName"
    for annotation in classes.ANNOTATIONS:
        if annotation in found.metadata.annotations:
            field = f"metadata.annotations[{annotation}]"
            break
    name = classes.class_name(found.metadata, found.spec.ingress_class_name)
    served = view.ask(settings.class_names, ()) or (classes.DEFAULT,)
    meant = hints.similar(name, served)
    hint = f" (did you mean {meant}?)" if meant else ""
    what = f"class {name}" if name else "an object without a class"
    yield field, f"{what} is not served here, only {' and '.join(sorted(served))}{hint}"


def _ingress(view: View, found: Ingress) -> Iterator[Reason]:
    written = classes.class_name(found.metadata, found.spec.ingress_class_name)
    name = written or default_class(view)
    named = view.read(tables.INGRESS_CLASSES, NamespacedName("", name)) if name else None
    if named is not None and not view.ask(settings.class_names, ()):
        what = f"IngressClass {name}" if written else f"the default IngressClass {name}"
        why = f"{what} is of controller {named.spec.controller}, not of {CONTROLLER}"
        yield "spec.ingressClassName", why
        return
    yield from _named_class(view, found)
