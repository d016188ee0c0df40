"""LabelSelector (Kubernetes API, "Label selectors"): objects selected by their labels."""

from crds.meta import model


@model
class LabelSelectorRequirement:
    """A condition on one label, with the operator In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@model
class LabelSelector:
    """All labels and requirements must be met. An empty selector selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
