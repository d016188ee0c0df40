"""CustomResourceDefinition: of which version the Gateway API is that a cluster has installed.

Its annotations tell; of the schemas nothing is read.
"""

from crds.meta import ObjectMeta, excerpt

OF_GATEWAY_CLASSES = "gatewayclasses.gateway.networking.k8s.io"
"""The only one that is looked at."""


@excerpt
class CustomResourceDefinition:
    """The definition of a kind (apiextensions.k8s.io/v1)."""

    metadata: ObjectMeta
