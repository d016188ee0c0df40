"""The parents of a route: those that it names, and the default Gateways that it asks for.

Whether these take the route is not looked at (`attachment`).
"""

from collections.abc import Iterator
from typing import Any

from crds.gateway.gateway import Gateway
from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Index, View


def of(view: View, spec: Any, own: str) -> tuple[ParentReference, ...]:
    """The parents of a route in the namespace `own`; default Gateways that it names, too, are there
    once (GEP-3793)."""
    if spec.use_default_gateways != "All":
        return tuple(spec.parent_refs)
    named = {
        NamespacedName(it.namespace or own, it.name)
        for it in spec.parent_refs
        if (it.group, it.kind) == (GROUP, "Gateway")
    }
    others = sorted(view.bucket(DEFAULTS, "All") - named)
    return (
        *spec.parent_refs,
        *(ParentReference(name=it.name, namespace=it.namespace) for it in others),
    )


def _scope(key: NamespacedName, found: Gateway) -> Iterator[tuple[str, NamespacedName]]:
    if found.spec.default_scope is not None:
        yield found.spec.default_scope, key


DEFAULTS: Index[str, NamespacedName] = Index("default Gateways", tables.GATEWAYS, _scope)

INDEXES = (DEFAULTS,)
