"""Messages on a Gateway about policies and routes whose own status has no room left.

A status of a policy has room for 16 ancestors, one of a route for 32 parents, of all controllers
together. Rule: Gateway API, comment on `PolicyStatus.ancestors` (what does not fit is to be
reported on related objects). The writer of statuses knows whether it fits.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from dag.engine.view import Index, Table, View
from dag.problems import Problem, policies
from dag.problems import gateway as problems

UNTOLD: Table[ObjectRef, tuple[NamespacedName, ...]] = Table("statuses without room")
"""By object: the Gateways, sorted, for which its status has no room; no row if all fit."""


def _by_gateway(
    ref: ObjectRef, found: tuple[NamespacedName, ...]
) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((it, ref) for it in found)


OBJECTS: Index[NamespacedName, ObjectRef] = Index("untold of a Gateway", UNTOLD, _by_gateway)

INDEXES = (OBJECTS,)


def problems_of(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """What a Gateway's status says in place of that of other objects."""
    for it in sorted(view.bucket(OBJECTS, gateway)):
        yield policies.no_room_in_status(problems.gateway(gateway), it)
