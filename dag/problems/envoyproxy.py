"""Problems of EnvoyProxies.

Its status has a condition `Accepted` for each GatewayClass and Gateway that names it. The status of
these objects, too, says in one sentence what makes it unusable. While Envoys to which it applies
are not as they should be, there is also the condition `Programmed`, which is false.
"""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error

KIND = "EnvoyProxy"


def spec(key: NamespacedName) -> Place:
    """The specification of an EnvoyProxy."""
    return Place(ObjectRef(KIND, *key))


invalid_value = error(ConditionType.Accepted, Gateway.InvalidParameters)
"""An invalid value: nothing of the EnvoyProxy is applied."""


def of_configuration(found: Problem) -> Problem:
    """What is wrong with a field that a ContourConfiguration has, too."""
    return Problem(found.subject, ConditionType.Accepted, Gateway.InvalidParameters, found.message)


def not_restricted(field: Place, why: str) -> Problem:
    """A field that would take pods out of the restricted Pod Security level."""
    return invalid_value(field, f"{why}: pods stay within the restricted Pod Security level")


def not_for_gateways(subject: ObjectRef, path: str) -> Problem:
    """A field that only the parameters of a GatewayClass may set."""
    text = f"only the {subject.kind} of a GatewayClass may set this"
    return invalid_value(Place(subject, path), text)


def not_in_this_namespace(subject: ObjectRef, path: str) -> Problem:
    """Such a field, in a namespace whose authors are not trusted with it."""
    text = (
        f"parameters in namespace {subject.namespace} may not set this; only those in namespaces"
        " that gateway.parametersNamespaces of the ContourConfiguration names may"
    )
    return invalid_value(Place(subject, path), text)


def ignored_field(field: Place, why: str) -> Problem:
    """A field without effect."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, f"{why}; it has no effect")


def not_programmed(place: Place, gateway: NamespacedName, why: str) -> Problem:
    """Envoys of a Gateway that are not as the EnvoyProxy says."""
    return place.error(ConditionType.Programmed, Gateway.Invalid, f"Gateway {gateway}: {why}")


def version_not_taken(subject: ObjectRef, why: str) -> Problem:
    """The newest version, instead of which the last good one holds."""
    text = f"{why}; the last valid version stays in force"
    return Problem(subject, ConditionType.Accepted, Gateway.InvalidParameters, text)
