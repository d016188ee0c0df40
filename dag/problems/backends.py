"""Problems of Backends, and of objects that refer to one."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error

_CLOSED = ", so its requests are answered with an error"


def backend(key: NamespacedName) -> Place:
    """The specification of a Backend."""
    return Place(ObjectRef("Backend", *key))


value_not_valid = error(ConditionType.Accepted, Gateway.Invalid, _CLOSED)
value_not_supported = error(ConditionType.Accepted, Gateway.UnsupportedValue, _CLOSED)


def session_parted(field: Place, why: str) -> Problem:
    """A backend of a rule whose sessions are not kept together with those of the others."""
    text = f"requests of a session may go to another backend, because {why}"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, text)


def fallback_left_out(reference: Place, why: str) -> Problem:
    """A fallback that cannot take over for the other backends of its rule."""
    text = f"the fallback gets no requests, because {why}"
    return reference.warning(ConditionType.Accepted, Gateway.Accepted, text)


def none_has_weight(rule: Place, *, has_some: bool, answer: str) -> Problem:
    """A rule that sends nothing to any backend, although it is served as it is written."""
    why = "every weight is 0" if has_some else "it names no backend"
    text = f"{why}, so {answer}"
    return rule.at("backendRefs").warning(ConditionType.Accepted, Gateway.Accepted, text)
