"""TLSCertificateDelegation (projectcontour.io/v1): which namespaces may use which Secrets."""

from crds.meta import ObjectMeta, model


@model
class CertificateDelegation:
    """A Secret, and the namespaces whose objects may refer to it."""

    secret_name: str
    """The name of the Secret, in the namespace of this object. A missing one is a warning."""
    target_namespaces: tuple[str, ...]
    """The namespaces whose objects may refer to the Secret. `*` means all of them, but only as the
    single entry; beside others it is ignored with a warning."""


@model
class TLSCertificateDelegationSpec:
    """The Secrets that objects of other namespaces may refer to."""

    delegations: tuple[CertificateDelegation, ...]
    """The Secrets, each with the namespaces whose objects may refer to it."""


@model
class TLSCertificateDelegation:
    """Objects of other namespaces may refer to Secrets of this namespace by `namespace/name`. When
    it is deleted, they no longer may, and the certificates are no longer served."""

    metadata: ObjectMeta
    spec: TLSCertificateDelegationSpec
