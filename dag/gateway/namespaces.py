"""Whether a listener takes routes, or a Gateway sets, of a namespace ("RouteNamespaces").

Selectors read the labels of the Namespace. One that is not there, as on a machine without
Kubernetes, counts as having the one label that Kubernetes gives to each: its name.
"""

from collections.abc import Iterator, Mapping

from crds.gateway.gateway import ListenerNamespaces, RouteNamespaces
from crds.gateway.selector import LabelSelector, LabelSelectorRequirement
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import View, query

Labels = Mapping[str, str]

NAME = "kubernetes.io/metadata.name"


def admits(
    view: View, allowed: RouteNamespaces | ListenerNamespaces, own: str, namespace: str
) -> bool:
    """Whether what is in a namespace may attach to what is in namespace `own`."""
    match allowed.from_:
        case "All":
            return True
        case "Same":
            return namespace == own
        case "Selector":
            return allowed.selector is not None and _selects(
                allowed.selector, view.ask(labels, namespace)
            )
        case _:  # "None", which ListenerSets may be told, or a word of a later version
            return False


@query
def labels(view: View, namespace: str) -> Labels:
    """The labels of a namespace."""
    found = view.read(tables.NAMESPACES, NamespacedName("", namespace))
    return {NAME: namespace} | (found.metadata.labels if found else {})


def refusals(selector: LabelSelector | None) -> Iterator[str]:
    """Why a selector selects nothing, whatever the labels are."""
    if selector is None:
        yield "must be given with from: Selector"
        return
    for requirement in selector.match_expressions:
        if requirement.operator not in _OPERATORS:
            yield f"operator {requirement.operator!r} is none of {', '.join(_OPERATORS)}"


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def _selects(selector: LabelSelector, found: Labels) -> bool:
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
