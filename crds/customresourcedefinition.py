"""CustomResourceDefinition: shows which version of the Gateway API a cluster has installed.

Only its annotations are read, none of the schemas.
"""

from crds.meta import ObjectMeta, excerpt

GATEWAY_CLASSES_CRD = "gatewayclasses.gateway.networking.k8s.io"
"""The name of the only CustomResourceDefinition that is read."""


@excerpt
class CustomResourceDefinition:
    """The definition of a kind (apiextensions.k8s.io/v1)."""

    metadata: ObjectMeta
