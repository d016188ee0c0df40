"""ClusterTrustBundle: certificate authorities of a cluster (certificates.k8s.io, KEP-3257)."""

from crds.meta import ObjectMeta, excerpt

GROUP = "certificates.k8s.io"


@excerpt
class ClusterTrustBundleSpec:
    """What is trusted."""

    trust_bundle: str = ""
    """Certificates in PEM. The API server does not take an empty text; a file may have one."""


@excerpt
class ClusterTrustBundle:
    """Certificate authorities that objects of every namespace may refer to."""

    metadata: ObjectMeta
    spec: ClusterTrustBundleSpec
