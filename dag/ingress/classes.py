"""Which Ingresses are for this controller.

The name of the class decides (`dag.classes`). If the configuration lists no classes, those count
too that name an IngressClass whose controller is ours. An Ingress that names none belongs to the
default IngressClass, if there is one. Source: Ingress documentation, "IngressClass".
"""

from collections.abc import Iterator

from crds.ingress import Ingress, IngressClass
from crds.meta import NamespacedName
from dag import classes, tables
from dag.configuration import settings
from dag.engine.view import Index, View, query

CONTROLLER = "projectcontour.io/ingress-controller"
DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"


def is_ours(view: View, ingress: Ingress) -> bool:
    """Whether an Ingress is for this controller."""
    return view.ask(
        is_served, classes.class_name(ingress.metadata, ingress.spec.ingress_class_name)
    )


@query
def is_served(view: View, name: str) -> bool:
    """Whether Ingresses that name a class are for this controller."""
    if view.ask(settings.gateways_only, ()):
        return False
    if view.ask(settings.class_names, ()):
        return classes.is_served(view, name)
    chosen = name or default_class(view)
    if classes.is_served(view, chosen):
        return True
    found = view.read(tables.INGRESS_CLASSES, NamespacedName("", chosen))
    return found is not None and found.spec.controller == CONTROLLER


def default_class(view: View) -> str:
    """The default IngressClass, for Ingresses that name none; empty if there is none."""
    return min(view.bucket(DEFAULTS, ()), default="")


def _defaults(key: NamespacedName, found: IngressClass) -> Iterator[tuple[tuple[()], str]]:
    if found.metadata.annotations.get(DEFAULT_ANNOTATION) == "true":
        yield (), key.name


DEFAULTS: Index[tuple[()], str] = Index("default classes", tables.INGRESS_CLASSES, _defaults)

INDEXES = (DEFAULTS,)
