"""Everything that the author of a TLSCertificateDelegation can be told."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.reasons import Contour, ErrorType, Own


def star_among_names(delegation: NamespacedName, index: int) -> Problem:
    """`*` counts only alone; a hasty edit must not delegate to everybody."""
    message = (
        f"spec.delegations[{index}].targetNamespaces: `*` stands for every namespace only where it "
        "is the single entry; here it has no effect"
    )
    subject = ObjectRef("TLSCertificateDelegation", *delegation)
    return Problem(subject, ErrorType.SpecError, Contour.IgnoredField, message, "warning")


def secret_not_found(delegation: NamespacedName, index: int, secret: NamespacedName) -> Problem:
    """A delegation of what is not there; its author may know what its users may not."""
    message = (
        f"spec.delegations[{index}].secretName: Secret {secret} not found; until it is there, "
        "nobody can use it"
    )
    subject = ObjectRef("TLSCertificateDelegation", *delegation)
    return Problem(subject, ErrorType.SpecError, Own.SecretNotFound, message, "warning")
