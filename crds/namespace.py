"""Namespace: the rules read its labels, where a Gateway's listener selects by them."""

from crds.meta import ObjectMeta, excerpt


@excerpt
class Namespace:
    """A namespace (core/v1)."""

    metadata: ObjectMeta
