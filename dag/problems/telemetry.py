"""Problems of XTelemetryPolicies."""

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error

_UNTRACED = "so nothing is traced"


def policy(key: NamespacedName) -> Place:
    """The specification of an XTelemetryPolicy."""
    return Place(ObjectRef("XTelemetryPolicy", *key))


target_not_found = error(ConditionType.Accepted, Gateway.TargetNotFound)
value_not_known = error(ConditionType.Accepted, Gateway.Invalid, f", {_UNTRACED}")
value_not_supported = error(ConditionType.Accepted, Gateway.UnsupportedValue, f", {_UNTRACED}")


def conflicts(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older XTelemetryPolicy {winner} holds for the same Gateway"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message)


def not_resolved(found: Problem) -> Problem:
    """The collector cannot be resolved, for this reason."""
    is_known = found.type == ConditionType.ResolvedRefs and found.severity == "error"
    reason = found.reason if is_known else Gateway.BackendNotFound
    message = f"{found.message}, {_UNTRACED}"
    return replace(
        found,
        type=ConditionType.ResolvedRefs,
        reason=reason,
        message=message,
        severity="error",
    )


def attribute_not_known(field: Place, key: str) -> Problem:
    why = f"{key} is not known here, and the attribute is left out"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)
