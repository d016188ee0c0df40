"""Whether a listener allows routes, or a Gateway ListenerSets, of a namespace ("RouteNamespaces").

Selectors read the labels of the Namespace. If it does not exist, as on a machine without
Kubernetes, it has the one label that Kubernetes gives to every Namespace: its name. In a cluster it
has others, which are not known yet or must not be read: what asks for their absence does not admit.
"""

from collections.abc import Iterator

from crds.gateway.gateway import ListenerNamespaces, RouteNamespaces
from crds.gateway.selector import LabelSelector
from crds.meta import NamespacedName
from crds.namespace import Namespace
from crds.records import replace
from dag import tables
from dag.engine.view import Index, View, query
from dag.values import selectors
from dag.values.selectors import Labels

NAME = "kubernetes.io/metadata.name"


def admits(
    view: View, allowed: RouteNamespaces | ListenerNamespaces, own: str, namespace: str
) -> bool:
    """Whether objects in `namespace` may attach to an object in namespace `own`."""
    match allowed.from_:
        case "All":
            return True
        case "Same":
            return namespace == own
        case "Selector":
            return allowed.selector is not None and _selects(view, allowed.selector, namespace)
        case _:  # "None", which ListenerSets may be told, or a word of a later version
            return False


@query
def labels(view: View, namespace: str) -> Labels:
    """The labels of a namespace."""
    found = view.read(tables.NAMESPACES, NamespacedName("", namespace))
    return {NAME: namespace} | (found.metadata.labels if found else {})


def _selects(view: View, selector: LabelSelector, namespace: str) -> bool:
    if not selectors.selects(selector, view.ask(labels, namespace)):
        return False
    absent = (it for it in selector.match_expressions if it.operator in ("NotIn", "DoesNotExist"))
    return all(it.key == NAME for it in absent) or not view.ask(is_unknown, namespace)


def may_select(selector: LabelSelector, namespace: str) -> bool:
    """Whether a selector may select a namespace of which only the name is known: it asks for other
    labels, too."""
    wanted = selector.match_labels or {}
    by_name = replace(
        selector,
        match_labels={NAME: wanted[NAME]} if NAME in wanted else None,
        match_expressions=tuple(it for it in selector.match_expressions if it.key == NAME),
    )
    is_named = selectors.selects(by_name, {NAME: namespace})
    keys = {*wanted, *(it.key for it in selector.match_expressions)}
    return is_named and keys - {NAME} != set()


@query
def is_unknown(view: View, namespace: str) -> bool:
    """Whether a namespace of a cluster has not been read."""
    is_missing = view.count(READ, namespace) == 0
    return is_missing and view.read(tables.LOOPBACK_REFUSED, ()) is not None


def _by_name(key: NamespacedName, _: Namespace) -> Iterator[tuple[str, None]]:
    yield key.name, None


READ: Index[str, None] = Index("namespaces that were read", tables.NAMESPACES, _by_name)
"""For who asks only whether a Namespace is there: its labels do not wake them."""

INDEXES = (READ,)


def refusals(selector: LabelSelector | None) -> Iterator[str]:
    """Why a selector selects nothing, whatever the labels are."""
    if selector is None:
        yield "must be given with from: Selector"
        return
    for requirement in selector.match_expressions:
        if requirement.operator not in selectors.OPERATORS:
            yield f"operator {requirement.operator!r} is none of {', '.join(selectors.OPERATORS)}"
