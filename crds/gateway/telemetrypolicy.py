"""XTelemetryPolicy: which requests of a Gateway are traced (GEP-5253, experimental in v1.7).

The checks are those of the CRD (v1.7.0), with its messages.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.gateway.filters import Fraction
from crds.gateway.known import Known
from crds.gateway.matches import HeaderName
from crds.gateway.references import BackendObjectReference, LocalObjectReference
from crds.meta import ObjectMeta, model
from crds.rules import rule

_Mode = Annotated[str, Known("Enabled", "Disabled", "ImplementationDefault")]
_Name = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z0-9_.:/-]+$", min_length=1, max_length=256)
]
_ServiceName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z0-9_.:/-]+$", min_length=1, max_length=253)
]
_SpanName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-zA-Z0-9_.:/-]+( [a-zA-Z0-9_.:/-]+)*$", min_length=1, max_length=256
    ),
]
_HeaderValue = Annotated[
    str, StringConstraints(pattern=r"^[!-~]+([\t ]?[!-~]+)*$", min_length=1, max_length=4096)
]
_Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]+$", min_length=1, max_length=256)]


@model
class TelemetryAttribute:
    """An attribute of every span, by where its value comes from."""

    name: _Name
    """The name of the attribute in the spans."""
    source_type: Annotated[str, Known("Header", "Literal", "Attribute")]
    """Where the value comes from: a header, a literal text or a property of the request."""
    header_name: HeaderName | None = None
    """The header of the request whose value the attribute has."""
    literal_value: str | None = Field(default=None, min_length=1, max_length=1024)
    """The value that the attribute always has."""
    attribute_key: _Key | None = None
    """The name that OpenTelemetry has for a property of the request."""
    _header = rule(
        "headerName is required when sourceType is Header, and must be empty otherwise",
        lambda it: (it.source_type == "Header") == (it.header_name is not None),
    )
    _literal = rule(
        "literalValue is required when sourceType is Literal, and must be empty otherwise",
        lambda it: (it.source_type == "Literal") == (it.literal_value is not None),
    )
    _attribute = rule(
        "attributeKey is required when sourceType is Attribute, and must be empty otherwise",
        lambda it: (it.source_type == "Attribute") == (it.attribute_key is not None),
    )


@model
class TelemetryHeader:
    """A header and its value."""

    name: HeaderName
    """The name of the header, in any case."""
    value: _HeaderValue
    """The value of the header, taken literally: printable characters of ASCII, between them at most
    one space or tab each.
    """


@model
class TelemetryProvider:
    """Who takes the spans (OTLP)."""

    backend_ref: BackendObjectReference
    headers: tuple[TelemetryHeader, ...] = Field(default=(), max_length=16)
    """Of the requests with spans."""


@model
class ParentBasedSampling:
    """Whether the decision of who has sent the request holds."""

    mode: _Mode = "ImplementationDefault"
    """Whether the decision in the request is followed."""
    sampling_rate: Fraction | None = None
    """Of the requests whose parent is sampled."""
    _rate = rule(
        "samplingRate can only be set when mode is Enabled",
        lambda it: it.sampling_rate is None or it.mode == "Enabled",
    )


@model
class TelemetryTracing:
    """Which requests are traced, and what their spans say."""

    mode: _Mode = "ImplementationDefault"
    """Whether requests are traced."""
    provider: TelemetryProvider | None = None
    sampling_rate: Fraction | None = None
    parent_based_sampling: ParentBasedSampling | None = None
    service_name: _ServiceName | None = None
    """The name of the service in the spans."""
    span_name: _SpanName | None = None
    """The name of the spans."""
    attributes: tuple[TelemetryAttribute, ...] = ()
    _provider = rule(
        "provider is required when mode is Enabled, and must be empty otherwise",
        lambda it: (it.mode == "Enabled") == (it.provider is not None),
    )
    _rate = rule(
        "samplingRate can only be set when mode is Enabled",
        lambda it: it.sampling_rate is None or it.mode == "Enabled",
    )
    _parents = rule(
        "parentBasedSampling can only be set when mode is Enabled",
        lambda it: it.parent_based_sampling is None or it.mode == "Enabled",
    )
    _service = rule(
        "serviceName can only be set when mode is Enabled",
        lambda it: it.service_name is None or it.mode == "Enabled",
    )
    _span = rule(
        "spanName can only be set when mode is Enabled",
        lambda it: it.span_name is None or it.mode == "Enabled",
    )
    _attributes = rule(
        "attributes can only be set when mode is Enabled",
        lambda it: not it.attributes or it.mode == "Enabled",
    )


@model
class XTelemetryPolicySpec:
    """The Gateways, and what is traced of their requests."""

    target_refs: tuple[LocalObjectReference, ...] = Field(min_length=1, max_length=16)
    tracing: TelemetryTracing | None = None
    _one = rule(
        "at least one of the fields in [tracing] must be set", lambda it: it.tracing is not None
    )


@model
class XTelemetryPolicy:
    """Says which requests of Gateways in its namespace are traced."""

    metadata: ObjectMeta
    spec: XTelemetryPolicySpec
