"""LabelSelector (Kubernetes API, "Label selectors"): which objects are meant, by their labels."""

from crds.meta import model


@model
class LabelSelectorRequirement:
    """What the value of one label has to be; the operators are In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@model
class LabelSelector:
    """Every label and every requirement must be met; an empty selector selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
