"""The HTTPProxies that a root includes, directly or through others: for its routes or stream."""

from typing import NamedTuple

from crds import httpproxy as crd
from crds.meta import NamespacedName, ObjectRef
from dag import hints, tables
from dag.engine.view import View
from dag.httpproxy import owner
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place

MAX_DEPTH = 100

Trail = tuple[crd.HTTPProxy, ...]
"""From the root down to the HTTPProxy that is expanded."""


class IncludedProxy(NamedTuple):
    """An HTTPProxy that is part of an expansion."""

    key: NamespacedName


def child(
    view: View, place: Place, trail: Trail, include: crd.Include | crd.TCPProxyInclude
) -> crd.HTTPProxy:
    """What the end of the trail includes; Refused if it cannot be included."""
    target = NamespacedName(include.namespace or place.subject.namespace, include.name)
    above = [it.metadata.key for it in trail]
    if target == above[0]:
        raise Refused(problems.root_includes_root(place, target))
    if target in above:
        ring = (*above[above.index(target) :], target)
        raise Refused(problems.include_creates_cycle(place, ring))
    if len(trail) > MAX_DEPTH:
        raise Refused(problems.include_too_deep(place, MAX_DEPTH))
    found = view.read(tables.HTTPPROXIES, target)
    if found is None or not owner.is_ours(view, found):
        hint = hints.hint(view, ObjectRef("HTTPProxy", *target))
        raise Refused(problems.include_not_found(place, target, hint))
    if found.spec.virtualhost is not None:
        raise Refused(problems.root_includes_root(place, target))
    return found
