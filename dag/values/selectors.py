"""Label selectors (Kubernetes API, "Label selectors"): whether labels meet one."""

from collections.abc import Mapping

from crds.envoygateway.policytargets import TargetSelector
from crds.gateway.selector import LabelSelector, LabelSelectorRequirement

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

Labels = Mapping[str, str]


def selects(selector: LabelSelector | TargetSelector, found: Labels) -> bool:
    """Whether labels meet all that a selector asks for."""
    wanted = (selector.match_labels or {}).items()
    return all(found.get(key) == value for key, value in wanted) and all(
        _meets(it, found) for it in selector.match_expressions
    )


def _meets(requirement: LabelSelectorRequirement, found: Labels) -> bool:
    value = found.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
