"""Namespace: its labels, by which listeners of a Gateway select namespaces."""

from crds.meta import ObjectMeta, excerpt


@excerpt
class Namespace:
    """A namespace (core/v1)."""

    metadata: ObjectMeta
