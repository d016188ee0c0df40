"""What is said of a policy or route where its own status has no room for it: its Gateway says it.

A policy has room for the words of 16 ancestors, a route for those of 32 parents, whichever
controllers speak in their names. Rule: Gateway API, comment on `PolicyStatus.ancestors` (what does
not fit is to be told on related objects). Whether it fits is known to whoever writes statuses.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from dag.engine.view import Index, Table, View
from dag.problems import Problem, policies
from dag.problems import gateway as problems

UNTOLD: Table[ObjectRef, tuple[NamespacedName, ...]] = Table("statuses without room")
"""The Gateways, sorted, in whose names nothing can be said of an object; no row where all can."""


def _by_gateway(
    ref: ObjectRef, found: tuple[NamespacedName, ...]
) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((it, ref) for it in found)


OBJECTS: Index[NamespacedName, ObjectRef] = Index("untold of a Gateway", UNTOLD, _by_gateway)

INDEXES = (OBJECTS,)


def told(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """What a Gateway says in place of others."""
    for it in sorted(view.bucket(OBJECTS, gateway)):
        yield policies.no_room_in_status(problems.gateway(gateway), it)
