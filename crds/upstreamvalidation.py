"""How the certificate of an upstream is checked: of a Service, or of a server of signing keys."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.meta import model
from crds.rules import rule


def _first_name_is_the_old_one(validation: Any) -> bool:
    return not validation.subject_names or validation.subject_names[0] == validation.subject_name


@model
class UpstreamValidation:
    """The authority and the names that a certificate has to show."""

    ca_secret: Annotated[str, StringConstraints(min_length=1, max_length=317)]
    """A Secret with `ca.crt`: its name, or namespace/name if that is delegated."""
    subject_name: Annotated[str, StringConstraints(min_length=1, max_length=250)]
    """The subject alternative name to be found in the certificate. Better use `subjectNames`."""
    subject_names: tuple[str, ...] = Field(default=(), min_length=1, max_length=8)
    """Names of which at least one is to be found; the first is `subjectName`."""
    _first = rule(
        "subjectNames[0] must equal subjectName if set",
        _first_name_is_the_old_one,
        cel="has(self.subjectNames) ? self.subjectNames[0] == self.subjectName : true",
    )
