"""TLSCertificateDelegation (projectcontour.io/v1): which namespaces may use which secrets."""

from crds.meta import ObjectMeta, model


@model
class CertificateDelegation:
    """A Secret and those who may refer to it."""

    secret_name: str
    """A Secret in the namespace of this object."""
    target_namespaces: tuple[str, ...]
    """The namespaces that may use it; `*` alone stands for all."""


@model
class TLSCertificateDelegationSpec:
    """The delegated Secrets."""

    delegations: tuple[CertificateDelegation, ...]
    """Secrets and those who may refer to them."""


@model
class TLSCertificateDelegation:
    """Lets HTTPProxies of other namespaces refer to Secrets of this one."""

    metadata: ObjectMeta
    spec: TLSCertificateDelegationSpec
