"""Which HTTPProxies serve requests: those that a root includes while it owns one of its hosts.

A root that lost its hosts is expanded only for the statuses, and serves nothing; neither do
HTTPProxies that no other root includes.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Index, View, query
from dag.httpproxy import expansion, owner


@query
def included(view: View, key: NamespacedName) -> tuple[NamespacedName, ...] | None:
    """The HTTPProxies that a root serves besides itself; None if it serves none."""
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
