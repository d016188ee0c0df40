"""Problems of XBackends, and of objects that refer to one."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error

_CLOSED = ", so its requests are answered with an error"


def backend(key: NamespacedName) -> Place:
    """The specification of an XBackend."""
    return Place(ObjectRef("XBackend", *key))


value_not_valid = error(ConditionType.Accepted, Gateway.Invalid, _CLOSED)
value_not_supported = error(ConditionType.Accepted, Gateway.UnsupportedValue, _CLOSED)
