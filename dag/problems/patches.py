"""Problems of EnvoyPatchPolicies."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, EnvoyGateway, Gateway
from dag.problems.shared import error

KIND = "EnvoyPatchPolicy"


def policy(key: NamespacedName) -> Place:
    """The specification of a policy."""
    return Place(ObjectRef(KIND, *key))


def disabled(own: Place) -> Problem:
    """The configuration does not allow the kind."""
    text = (
        "has no effect: the configuration of the instance does not allow EnvoyPatchPolicies"
        " (gateway.envoyPatchPolicies)"
    )
    return own.error(ConditionType.Accepted, EnvoyGateway.Disabled, text)


def namespace_not_allowed(own: Place) -> Problem:
    """The fleet is shared, and the configuration does not name the namespace."""
    text = (
        "has no effect: the Envoys are shared with Ingresses and HTTPProxies of all namespaces, and"
        " the configuration of the instance does not allow policies of the namespace"
        f" {own.subject.namespace} to change their configuration"
        " (gateway.envoyPatchPolicies.namespaces)"
    )
    return own.error(ConditionType.Accepted, Gateway.NotAllowed, text)


target_not_found = error(ConditionType.Accepted, Gateway.TargetNotFound)
target_not_valid = error(ConditionType.Accepted, Gateway.Invalid)
not_found = error(ConditionType.Programmed, EnvoyGateway.ResourceNotFound)
not_applied = error(ConditionType.Programmed, Gateway.Invalid)


def refused(subject: ObjectRef, words: str) -> Problem:
    """Envoy refuses what the patches of a policy make, in these words."""
    text = f"Envoy refuses what the patch makes, so it is undone: {words}"
    return Problem(subject, ConditionType.Programmed, Gateway.Invalid, text)
