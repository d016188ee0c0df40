"""BackendTLSPolicy: TLS towards a Service, and the names its certificates must have (GEP-1897).

The checks are those of the CRD (v1.6.1), with its messages.
"""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.fields import Hostname, Subdomain
from crds.gateway.known import Known
from crds.gateway.references import Group, KindName, LocalObjectReference, ObjectName
from crds.meta import ObjectMeta, model
from crds.rules import rule
from crds.unserved import Unserved

Uri = Annotated[
    str,
    StringConstraints(
        pattern=r"^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?",
        min_length=1,
        max_length=253,
    ),
]
_Option = Annotated[str, StringConstraints(max_length=4096)]


@model
class PolicyTarget:
    """The target of a policy: a Service, or one port of it."""

    group: Group
    """The API group of the target; empty for a Service."""
    kind: KindName
    """The kind of the target, which is a Service."""
    name: ObjectName
    """The name of the target, in the namespace of the policy."""
    section_name: Subdomain | None = None
    """The name of a port of the Service; all ports if absent."""


_NAMED = {"Hostname": "hostname", "URI": "uri"}


def _has_the_field_it_names(name: Any) -> bool:
    given = [field for field in _NAMED.values() if getattr(name, field)]
    return name.type not in _NAMED or given == [_NAMED[name.type]]


@model
class SubjectAltName:
    """A subject alternative name that the certificate of an endpoint may have, by type."""

    type: Annotated[str, Known("Hostname", "URI")]
    """Which of the other two fields is set."""
    hostname: Hostname | None = None
    """The DNS name that the certificate must have, for the type `Hostname`."""
    uri: Uri | None = None
    """The URI that the certificate must have, for the type `URI`."""
    _field = rule(
        "exactly the field that type names must be specified: hostname or uri",
        _has_the_field_it_names,
    )


@model
class BackendTLSPolicyValidation:
    """How the certificate of an endpoint is verified."""

    ca_certificate_refs: tuple[LocalObjectReference, ...] = Field(default=(), max_length=8)
    well_known_ca_certificates: str | None = Field(
        default=None, min_length=1, max_length=253, validation_alias="wellKnownCACertificates"
    )
    """`System` means the certificate authorities of Envoy's own system."""
    hostname: Subdomain
    """The server name (SNI) that Envoy sends; the certificate must have it if there are no
    `subjectAltNames`."""
    subject_alt_names: tuple[SubjectAltName, ...] = Field(default=(), max_length=5)
    _one = rule(
        "must not contain both CACertificateRefs and WellKnownCACertificates",
        lambda it: not (it.ca_certificate_refs and it.well_known_ca_certificates),
    )
    _either = rule(
        "must specify either CACertificateRefs or WellKnownCACertificates",
        lambda it: it.ca_certificate_refs or it.well_known_ca_certificates,
    )


def _targets_are_unique(spec: Any) -> bool:
    targets = Counter((it.group, it.kind, it.name) for it in spec.target_refs)
    sections = Counter((it.group, it.kind, it.name, it.section_name) for it in spec.target_refs)
    whole = {it[:3] for it in sections if it[3] is None and targets[it[:3]] > 1}
    return max(sections.values()) == 1 and not whole


@model
class BackendTLSPolicySpec:
    """The Services that Envoy connects to by TLS, and how their certificates are verified."""

    target_refs: tuple[PolicyTarget, ...] = Field(min_length=1, max_length=16)
    validation: BackendTLSPolicyValidation
    options: Annotated[dict[str, _Option], Unserved()] = Field(default_factory=dict, max_length=16)
    """Settings of single implementations. None is known here."""
    _targets = rule(
        "sectionName must be specified and unique when targetRefs includes 2 or more references"
        " to the same target",
        _targets_are_unique,
    )


@model
class BackendTLSPolicy:
    """Envoy connects to Services in the policy's namespace by TLS."""

    metadata: ObjectMeta
    spec: BackendTLSPolicySpec
