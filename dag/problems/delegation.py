"""Problems of TLSCertificateDelegations."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.reasons import Contour, ErrorType, Own


def star_among_names(delegation: NamespacedName, index: int) -> Problem:
    """`*` counts only if it is alone: an edit must not delegate to all namespaces by accident."""
    message = (
        f"spec.delegations[{index}].targetNamespaces: `*` stands for every namespace only where it "
        "is the single entry; here it has no effect"
    )
    subject = ObjectRef("TLSCertificateDelegation", *delegation)
    return Problem(subject, ErrorType.SpecError, Contour.IgnoredField, message, "warning")


def secret_not_found(delegation: NamespacedName, index: int, secret: NamespacedName) -> Problem:
    """A delegation of a missing Secret: its author may learn that, its users may not."""
    message = (
        f"spec.delegations[{index}].secretName: Secret {secret} not found; until it is there, "
        "nobody can use it"
    )
    subject = ObjectRef("TLSCertificateDelegation", *delegation)
    return Problem(subject, ErrorType.SpecError, Own.SecretNotFound, message, "warning")
