"""How the certificate of an upstream is verified: of a Service, or of a server of JWT keys."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.meta import model
from crds.rules import rule


def _first_name_is_subject_name(validation: Any) -> bool:
    return not validation.subject_names or validation.subject_names[0] == validation.subject_name


@model
class UpstreamValidation:
    """The certificate authority and the names by which the certificate of an upstream is verified.
    While it cannot be verified, nothing is sent to the upstream."""

    ca_secret: Annotated[str, StringConstraints(min_length=1, max_length=317)]
    """The Secret with the CA certificates in its key `ca.crt`: a name in the same namespace, or
    `namespace/name` if a TLSCertificateDelegation permits it."""
    subject_name: Annotated[str, StringConstraints(min_length=1, max_length=250)]
    """The certificate must have this subject alternative name: a DNS name, or a URI such as
    `spiffe://example.com/web`. Use `subjectNames` for several names."""
    subject_names: tuple[str, ...] = Field(default=(), min_length=1, max_length=8)
    """The certificate must have at least one of these subject alternative names. The first one must
    be equal to `subjectName`; at most 8 names are allowed."""
    _first = rule(
        "subjectNames[0] must equal subjectName if set",
        _first_name_is_subject_name,
        cel="has(self.subjectNames) ? self.subjectNames[0] == self.subjectName : true",
    )
