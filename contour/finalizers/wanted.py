"""Which of our finalizers an object should have, according to the graph.

A Gateway that is served has a finalizer of its instance, so that several instances do not remove
each other's; one that waits has none. A class has that of the Gateway API while it is served and
has Gateways (comments on `GatewayClass`). Classes of other controllers are left alone. An instance
whose configuration is deleted removes all its finalizers, since nothing would do so later.
"""

from collections.abc import Callable, Iterable, Iterator

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.incremental import Engine
from dag.gateway import selection
from provisioning.keeping import finalizers
from provisioning.keeping.ownership import Owner


def finalizer(kind: str, instance: NamespacedName) -> str:
    """The name of our finalizer for objects of this kind."""
    if kind == "GatewayClass":
        return finalizers.GATEWAY_EXISTS
    return finalizers.of_instance(Owner(*instance))


def is_wanted(engine: Engine, subject: ObjectRef) -> bool | None:
    """Whether an object should have it; None: another controller decides that."""
    is_leaving = _is_leaving(engine)
    if subject.kind == "Gateway":
        return not is_leaving and engine.answer(selection.fleet, subject.key) is not None
    is_ours: bool | None = engine.answer(selection.is_of_our_controller, subject.key)
    is_in_use: bool | None = engine.answer(selection.is_in_use, subject.key)
    if not is_ours:
        return None
    return bool(is_in_use) and not is_leaving


def manager(instance: NamespacedName) -> str:
    """By which field manager an instance puts them there."""
    return finalizers.manager(Owner(*instance))


def is_served(
    engine: Engine, subject: ObjectRef, finalizers_of: Callable[[ObjectRef], Iterable[str]]
) -> bool:
    """Whether an instance serves a Gateway of this class, or has not left it yet."""
    return any(
        finalizers.is_of_an_instance(it)
        for key in engine.bucket(selection.EVERY_GATEWAY, subject.name)
        for it in finalizers_of(ObjectRef("Gateway", *key))
    )


def concerned(engine: Engine, subject: ObjectRef) -> Iterator[ObjectRef]:
    """The objects whose finalizers may have to change when this one has changed."""
    if subject.kind == "Gateway":
        yield subject
    if subject.kind == "ContourConfiguration":
        yield from (ObjectRef("Gateway", *key) for key, _ in engine.rows(tables.GATEWAYS))
    if subject.kind in {*KINDS, "ContourConfiguration"}:
        yield from (
            ObjectRef("GatewayClass", *key) for key, _ in engine.rows(tables.GATEWAY_CLASSES)
        )


KINDS = frozenset({"Gateway", "GatewayClass"})


def _is_leaving(engine: Engine) -> bool:
    name = engine.row(tables.CONFIGURATION_NAME, ())
    found = engine.row(tables.CONFIGURATIONS, name) if name is not None else None
    return found is not None and found.metadata.deletion_timestamp is not None
