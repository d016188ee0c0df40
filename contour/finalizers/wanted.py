"""Which of our finalizers an object is to have, as far as the graph tells.

A Gateway that is served has one that is its instance's own, so that several instances do not take
it from one another; one that waits has none. A class has the Gateway API's while it is served and
there are Gateways of it (comments on `GatewayClass`). Of what is not ours nothing is said.
"""

from collections.abc import Iterator
from hashlib import blake2b

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.gateway import selection
from dag.incremental import Engine

GATEWAY_EXISTS = "gateway-exists-finalizer.gateway.networking.k8s.io"


def finalizer(kind: str, instance: NamespacedName) -> str:
    """Which one is meant, of an object of this kind."""
    return GATEWAY_EXISTS if kind == "GatewayClass" else f"{_PREFIX}/{_name(instance)}"


def is_wanted(engine: Engine, subject: ObjectRef) -> bool | None:
    """Whether an object is to have it; None: that is not for us to say."""
    if subject.kind == "Gateway":
        return engine.answer(selection.fleet, subject.key) is not None
    is_ours: bool | None = engine.answer(selection.is_of_our_controller, subject.key)
    is_in_use: bool | None = engine.answer(selection.is_in_use, subject.key)
    return is_in_use if is_ours else None


def concerned(engine: Engine, subject: ObjectRef) -> Iterator[ObjectRef]:
    """The objects for which something else may be wanted once this one has changed."""
    if subject.kind == "Gateway":
        yield subject
    if subject.kind in KINDS:
        for key, _ in engine.rows(tables.GATEWAY_CLASSES):
            yield ObjectRef("GatewayClass", *key)


KINDS = frozenset({"Gateway", "GatewayClass"})

_PREFIX = "gateway.projectcontour.io"
_MOST = 63  # characters of what is behind the prefix


def _name(instance: NamespacedName) -> str:
    found = f"{instance.namespace}.{instance.name}"
    if len(found) <= _MOST:
        return found
    digest = blake2b(found.encode(), digest_size=4).hexdigest()
    return f"{found[: _MOST - 9].rstrip('.-')}-{digest}"
