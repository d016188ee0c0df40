"""The owner of a node ID: in each namespace, the oldest EnvoyConfig that names it."""

from collections.abc import Iterable
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import seniority, tables
from dag.engine.view import Index, View, query
from dag.rawconfig.content import READINGS, Reading


class NodeKey(NamedTuple):
    """A node ID within a namespace."""

    namespace: str
    node: str


def _claimed(key: NamespacedName, found: Reading) -> Iterable[tuple[NodeKey, NamespacedName]]:
    yield NodeKey(key.namespace, found.node), key


CLAIMS: Index[NodeKey, NamespacedName] = Index("claims of node IDs", READINGS, _claimed)


@query
def owner(view: View, key: NodeKey) -> NamespacedName | None:
    """The EnvoyConfig that the Envoys of a node ID get; None if there is none."""
    claims = [_seniority(view, it) for it in view.bucket(CLAIMS, key)]
    return min(claims).key if claims else None


def _seniority(view: View, key: NamespacedName) -> seniority.Senior:
    found = view.read(tables.ENVOY_CONFIGS, key)
    return seniority.senior(found.metadata) if found is not None else seniority.of(key)
