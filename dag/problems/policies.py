"""What owners of a BackendTLSPolicy are told, and what is told elsewhere for want of room."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error


def policy(key: NamespacedName) -> Place:
    """The specification of a BackendTLSPolicy."""
    return Place(ObjectRef("BackendTLSPolicy", *key))


def policy_conflicts(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older BackendTLSPolicy {winner} holds for the same target"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message)


policy_target_not_found = error(ConditionType.Accepted, Gateway.TargetNotFound)


policy_value_not_known = error(ConditionType.Accepted, Gateway.Invalid)


policy_authority_kind = error(ConditionType.ResolvedRefs, Gateway.InvalidKind)


def no_room_in_status(owner: Place, ref: ObjectRef) -> Problem:
    message = (
        f"the status of {ref} is full of what other controllers say, so nothing is told there;"
        " what it says is in force as far as it is valid"
    )
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")
