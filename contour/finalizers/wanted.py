"""Which of our finalizers an object is to have, as far as the graph tells.

A Gateway that is served has one that is its instance's own, so that several instances do not take
it from one another; one that waits has none. A class has the Gateway API's while it is served and
there are Gateways of it (comments on `GatewayClass`). Of what is not ours nothing is said. An
instance whose configuration is deleted takes leave of everything: nobody would do so after it.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.incremental import Engine
from dag.gateway import selection
from provisioning.keeping import finalizers
from provisioning.keeping.ownership import Owner


def finalizer(kind: str, instance: NamespacedName) -> str:
    """Which one is meant, of an object of this kind."""
    if kind == "GatewayClass":
        return finalizers.GATEWAY_EXISTS
    return finalizers.of_instance(Owner(*instance))


def is_wanted(engine: Engine, subject: ObjectRef) -> bool | None:
    """Whether an object is to have it; None: that is not for us to say."""
    is_leaving = _is_leaving(engine)
    if subject.kind == "Gateway":
        return not is_leaving and engine.answer(selection.fleet, subject.key) is not None
    is_ours: bool | None = engine.answer(selection.is_of_our_controller, subject.key)
    is_in_use: bool | None = engine.answer(selection.is_in_use, subject.key)
    if not is_ours:
        return None
    return bool(is_in_use) and not is_leaving


def concerned(engine: Engine, subject: ObjectRef) -> Iterator[ObjectRef]:
    """The objects for which something else may be wanted once this one has changed."""
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
