"""Which HTTPProxies and Ingresses are for this controller: the ingress class that each names.

If only Gateways are served, none of them are. An annotation wins over the field. If the
configuration lists classes, only objects that name one of them are served; otherwise those that
name `contour`, and those that name none.
"""

from crds.meta import ObjectMeta
from dag.configuration import settings
from dag.engine.view import View, query

ANNOTATIONS = ("projectcontour.io/ingress.class", "kubernetes.io/ingress.class")
DEFAULT = "contour"


def class_name(metadata: ObjectMeta, field: str | None) -> str:
    """The class that an object names; empty if it names none."""
    for annotation in ANNOTATIONS:
        if annotation in metadata.annotations:
            return metadata.annotations[annotation]
    return field or ""


@query
def served(view: View, _: tuple[()]) -> tuple[str, ...]:
    """The classes whose objects are served; empty stands for objects that name none."""
    if view.ask(settings.gateways_only, ()):
        return ()
    return view.ask(settings.class_names, ()) or (DEFAULT, "")


def is_served(view: View, name: str) -> bool:
    """Whether objects of this class are served, as far as names tell."""
    return name in view.ask(served, ())
