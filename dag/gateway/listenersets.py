"""Whether a ListenerSet may add its listeners to a Gateway of ours (GEP-1713).

The Gateway names the namespaces that sets may come from; by default it takes none. Elsewhere: what
becomes of each listener (`listeners`), conflicts (`conflicts`), the words of the status
(`listenersetstatus`).
"""

from collections.abc import Iterator

from crds.gateway.gateway import ListenerNamespaces
from crds.gateway.listenerset import ListenerSet
from crds.gateway.references import GROUP
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import tables
from dag.engine.view import Index, View, query
from dag.gateway import namespaces, selection
from dag.problems import Problem
from dag.problems import gateway as problems

KIND = "ListenerSet"


def ref(key: NamespacedName) -> ObjectRef:
    """A ListenerSet, as a holder of listeners."""
    return ObjectRef(KIND, *key)


def gateway_ref(key: NamespacedName) -> ObjectRef:
    """A Gateway, as a holder of listeners."""
    return ObjectRef("Gateway", *key)


@dataclass(frozen=True, slots=True)
class Admission:
    """The Gateway of ours that a ListenerSet names, and why that does not take it, if so."""

    gateway: NamespacedName
    refusal: Problem | None = None


@query
def admission(view: View, key: NamespacedName) -> Admission | None:
    """What became of a ListenerSet; None if it names no Gateway of ours."""
    found = view.read(tables.LISTENER_SETS, key)
    gateway = _parent(found) if found is not None else None
    if gateway is None or not view.ask(selection.is_ours, gateway):
        return None
    own = problems.listener_set(key)
    if view.ask(selection.fleet, gateway) is None:
        return Admission(gateway, problems.parent_not_accepted(own, gateway))
    allowed = view.ask(allowed_namespaces, gateway)
    if not namespaces.admits(view, allowed, gateway.namespace, key.namespace):
        return Admission(gateway, problems.set_not_allowed(own, gateway))
    return Admission(gateway)


@query
def gateway_of(view: View, holder: ObjectRef) -> NamespacedName | None:
    """The Gateway that serves the listeners of a Gateway or ListenerSet, if one of ours does."""
    if holder.kind == KIND:
        found = view.ask(admission, holder.key)
        return found.gateway if found is not None and found.refusal is None else None
    is_served = view.ask(selection.fleet, holder.key) is not None
    return holder.key if is_served else None


@query
def allowed_namespaces(view: View, gateway: NamespacedName) -> ListenerNamespaces:
    """The namespaces that the ListenerSets of a Gateway may come from."""
    found = view.read(tables.GATEWAYS, gateway)
    allowed = found.spec.allowed_listeners if found is not None else None
    return allowed.namespaces if allowed is not None else ListenerNamespaces()


def _parent(found: ListenerSet) -> NamespacedName | None:
    parent = found.spec.parent_ref
    if (parent.group, parent.kind) != (GROUP, "Gateway"):
        return None
    return NamespacedName(parent.namespace or found.metadata.namespace, parent.name)


def _gateway(key: NamespacedName, found: ListenerSet) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    gateway = _parent(found)
    if gateway is not None:
        yield gateway, ObjectRef(KIND, *key)


SETS: Index[NamespacedName, ObjectRef] = Index(
    "ListenerSets of a Gateway", tables.LISTENER_SETS, _gateway
)

INDEXES = (SETS,)
