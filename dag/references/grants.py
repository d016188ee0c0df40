"""Whether an object may refer to one in another namespace (Gateway API, "ReferenceGrant").

A grant lives beside what is referred to. One `from` and one `to` of the same grant must fit; grants
are alternatives. Whether the target exists is never checked: the answer must not disclose that.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from crds.gateway.referencegrant import ReferenceGrant
from crds.gateway.references import EXPERIMENTAL_GROUP, GROUP
from crds.kinds import ENVOY_GATEWAY, KINDS
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Index, View


class Referrer(NamedTuple):
    """Objects of one kind in one namespace."""

    group: str
    kind: str
    namespace: str


def referrer(who: ObjectRef) -> Referrer:
    """Objects of the kind and namespace of one."""
    return Referrer(_group(who.kind), who.kind, who.namespace)


def _group(kind: str) -> str:
    others = (EXPERIMENTAL_GROUP, ENVOY_GATEWAY)
    return next((it for it in others if (it, kind) in KINDS), GROUP)


class Target(NamedTuple):
    """What is referred to; every object of the kind in the namespace if the name is empty."""

    group: str
    kind: str
    namespace: str
    name: str = ""


def backend(target: ObjectRef) -> Target:
    """An object of a core kind, or an XBackend or Backend."""
    return Target(_GROUPS.get(target.kind, ""), target.kind, *target.key)


_GROUPS = {"XBackend": EXPERIMENTAL_GROUP, "Backend": ENVOY_GATEWAY}


def is_granted(view: View, referrer: Referrer, target: Target) -> bool:
    """Whether the reference stays in its namespace, or the other namespace permits it."""
    if referrer.namespace == target.namespace:
        return True
    every = target._replace(name="")
    return any(view.count(GRANTED, (referrer, it)) for it in (every, target))


def _granted(
    key: NamespacedName, grant: ReferenceGrant
) -> Iterator[tuple[tuple[Referrer, Target], NamespacedName]]:
    for from_, to in product(grant.spec.from_, grant.spec.to):
        referrer = Referrer(from_.group, from_.kind, from_.namespace)
        yield (referrer, Target(to.group, to.kind, key.namespace, to.name or "")), key


GRANTED: Index[tuple[Referrer, Target], NamespacedName] = Index(
    "granted references", tables.GRANTS, _granted
)

INDEXES = (GRANTED,)
