"""What owners of policies are told, and what is told elsewhere for want of room."""

from typing import Literal

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error


def policy(key: NamespacedName) -> Place:
    """The specification of a BackendTLSPolicy."""
    return Place(ObjectRef("BackendTLSPolicy", *key))


def attached(kind: str, key: NamespacedName) -> Place:
    """The specification of a policy of any kind."""
    return Place(ObjectRef(kind, *key))


def policy_conflicts(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older BackendTLSPolicy {winner} holds for the same target"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message)


policy_target_not_found = error(ConditionType.Accepted, Gateway.TargetNotFound)


def policy_target_lacks(field: Place, why: str) -> Problem:
    """A target that is none, of a policy that has others."""
    return field.warning(ConditionType.Accepted, Gateway.TargetNotFound, why)


def attached_conflicts(
    owner: Place, winner: NamespacedName, target: str, *, is_error: bool
) -> Problem:
    """Another policy of the kind applies to a target."""
    message = f"the older {owner.subject.kind} {winner} applies to {target}"
    return Problem(
        owner.subject,
        ConditionType.Accepted,
        Gateway.Conflicted,
        message,
        "error" if is_error else "warning",
    )


def overridden(owner: Place, target: str, names: tuple[str, ...]) -> Problem:
    """More specific policies of the kind hold on parts of a target; no names: they are many."""
    who = ", ".join(names) if names else "many more specific ones"
    message = f"for parts of {target}, policies hold instead that are more specific: {who}"
    return Problem(owner.subject, ConditionType.Overridden, Gateway.Overridden, message, "warning")


def policy_field_not_served(field: Place, why: str) -> Problem:
    """A field that has no effect, and opens nothing by that."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, f"has no effect: {why}")


policy_closes = error(
    ConditionType.Accepted, Gateway.Invalid, ", so its routes answer 500, those for gRPC 503"
)
"""What a policy guards with cannot be built, and must not be left out."""


policy_closes_listeners = error(
    ConditionType.Accepted,
    Gateway.Invalid,
    ", so its listeners answer 503 for routes of the Gateway API, and close streams",
)
"""What a policy asks of clients cannot be asked, and must not be left out."""


def port_is_shared(owner: Place, port: str, why: str, *, is_error: bool) -> Problem:
    """A port on which a policy does not hold, as far as ports have one setting for all."""
    message = f"does not hold for what all hosts of port {port} share: {why}"
    severity: Literal["error", "warning"] = "error" if is_error else "warning"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message, severity)


def policy_unread(owner: Place) -> Problem:
    """A policy with errors, of which no good version was ever seen."""
    return policy_closes(owner, "cannot be read")


def policy_remark(field: Place, text: str) -> Problem:
    """What is told of a part of a policy that is served."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, text)


def closed_by_policy(route: Place, policy: ObjectRef) -> Problem:
    """A rule whose policy cannot be served; the policy says why."""
    why = f"answers an error, because {policy} cannot be served"
    return route.warning(ConditionType.Accepted, Gateway.Accepted, why)


def guarded_twice(route: Place, policy: ObjectRef, what: str) -> Problem:
    """A rule with a filter and a policy of which only one can stand on it."""
    why = f"answers an error, because it has {what} by a filter and by {policy}"
    return route.warning(ConditionType.Accepted, Gateway.Accepted, why)


policy_value_not_known = error(ConditionType.Accepted, Gateway.Invalid)


policy_authority_kind = error(ConditionType.ResolvedRefs, Gateway.InvalidKind)


def no_room_in_status(owner: Place, ref: ObjectRef) -> Problem:
    is_served = ref.kind != "XTelemetryPolicy"
    then = "is in force as far as it is valid" if is_served else "is not in force for the Gateway"
    message = (
        f"the status of {ref} is full of what other controllers say, so nothing is told there;"
        f" what it says {then}"
    )
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")
