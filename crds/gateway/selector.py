"""LabelSelector (Kubernetes API, "Label selectors"): objects selected by their labels."""

from crds.meta import model


@model
class LabelSelectorRequirement:
    """A condition on one label, with the operator In, NotIn, Exists or DoesNotExist."""

    key: str
    """The key of the label that the condition is about."""
    operator: str
    """In, NotIn, Exists or DoesNotExist: how the label has to relate to the values."""
    values: tuple[str, ...] = ()
    """The values for In and NotIn; Exists and DoesNotExist have none."""


@model
class LabelSelector:
    """All labels and requirements must be met. An empty selector selects everything."""

    match_labels: dict[str, str] | None = None
    """The labels that must be there with exactly these values."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    """Further conditions on labels, all of which must be met."""
