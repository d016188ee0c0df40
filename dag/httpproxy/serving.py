"""Which HTTPProxies requests reach: what a root includes, while it owns one of its hosts.

A root that lost its hosts is expanded for the sake of what its authors are told, and serves
nothing; what it alone includes is served no more than what nobody includes.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Index, View, query
from dag.httpproxy import expansion, owner


@query
def included(view: View, key: NamespacedName) -> tuple[NamespacedName, ...] | None:
    """What a root serves beside itself; None if that is nothing."""
    found = view.ask(expansion.expansion, key)
    if found is None or len(found.included) < 2:
        return None
    root = view.read(tables.HTTPPROXIES, key)
    names = owner.fqdns(root) if root is not None else ()
    if not any(view.ask(owner.owner, it) == key for it in names):
        return None
    return tuple(it for it in found.included if it != key)


def _served(
    _: NamespacedName, found: tuple[NamespacedName, ...]
) -> Iterator[tuple[NamespacedName, None]]:
    return ((key, None) for key in found)


INCLUDERS: Index[NamespacedName, None] = Index(
    "roots that include others",
    expansion.expansion,
    lambda key, found: [(key, None)] if len(found.included) > 1 else [],
)

SERVED: Index[NamespacedName, None] = Index("served HTTPProxies", included, _served)

INDEXES = (INCLUDERS, SERVED)
