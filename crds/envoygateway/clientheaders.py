"""What a ClientTrafficPolicy says of headers of requests and answers.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.envoygateway.opaque import Amount
from crds.fields import Flag
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule

MATCHES = ("Exact", "Prefix", "Suffix", "RegularExpression")
"""How texts are compared."""

_Text = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
_HeaderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", min_length=1, max_length=256),
]


@model
class NameMatch:
    """A text that is compared with a name."""

    type: Annotated[str, Known(*MATCHES)] = "Exact"
    """How it is compared: `Exact`, `Prefix`, `Suffix` or `RegularExpression`. The default is
    `Exact`."""
    value: _Text
    """The text that the name is compared with, in the way that the type says."""


@model
class ClientHeader:
    """A header with its value."""

    name: _HeaderName
    """The name of the header, compared without case."""
    value: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """The value of the header, as it is."""


@model
class HeaderChanges:
    """What is done with headers."""

    set: tuple[ClientHeader, ...] = Field(default=(), min_length=1, max_length=64)
    """Headers that get a value, in place of those that are there."""
    add: tuple[ClientHeader, ...] = Field(default=(), min_length=1, max_length=64)
    """Headers that get a further value, beside those that are there already."""
    add_if_absent: tuple[ClientHeader, ...] = Field(default=(), min_length=1, max_length=64)
    """Headers that get a value if they are not there; others stay as they are."""
    remove: tuple[str, ...] = Field(default=(), min_length=1, max_length=64)
    """The names of headers that are removed, whatever value they have, compared without case."""
    remove_on_match: tuple[NameMatch, ...] = Field(default=(), min_length=1, max_length=64)
    """Headers are removed whose names match, compared without case."""


@model
class ForwardedClientCertificate:
    """The header `x-forwarded-client-cert`, by which backends learn the certificate of a client."""

    mode: Annotated[
        str | None,
        Known("Sanitize", "ForwardOnly", "AppendForward", "SanitizeSet", "AlwaysForwardOnly"),
    ] = None
    """What becomes of the header: `Sanitize`, the default, removes it; `ForwardOnly` passes it on
    where the client has a certificate, `AlwaysForwardOnly` always; `AppendForward` adds to it, and
    `SanitizeSet` replaces it."""
    cert_details_to_add: Annotated[
        tuple[str, ...], Known("Subject", "Cert", "Chain", "DNS", "URI")
    ] = Field(default=(), max_length=5)
    """Which parts of the certificate are passed on: `Subject`, `Cert`, `Chain`, `DNS` and `URI`."""
    _details = rule(
        "certDetailsToAdd can only be set when mode is AppendForward or SanitizeSet",
        lambda it: not it.cert_details_to_add or it.mode in ("AppendForward", "SanitizeSet"),
        "(has(self.certDetailsToAdd) && self.certDetailsToAdd.size() > 0) ?"
        " (has(self.mode) && self.mode in ['AppendForward', 'SanitizeSet']) : true",
    )


@model
class ClientHost:
    """How the host of a request is brought into its normal form."""

    strip_trailing_host_dot: Flag | None = None
    """Whether a dot at the end of the host is removed. Without the policy it is."""


@model
class ClientHeaders:
    """What becomes of headers of requests and answers."""

    enable_envoy_headers: Flag | None = None
    """Whether Envoy adds headers of its own (`X-Envoy-`) to requests and answers. Without the
    policy it does."""
    disable_rate_limit_headers: Flag | None = None
    """Whether answers have no headers about the limits of BackendTrafficPolicies
    (`X-RateLimit-`). A rule with `xRateLimitHeaders` keeps to that."""
    x_forwarded_client_cert: ForwardedClientCertificate | None = None
    """The header by which backends learn the certificate of a client."""
    with_underscores_action: Annotated[
        str | None, Known("Allow", "RejectRequest", "DropHeader")
    ] = None
    """What becomes of headers with an underscore in the name: `Allow`, `RejectRequest` (the request
    is answered 400) or `DropHeader`."""
    preserve_x_request_id: Flag | None = Field(default=None, validation_alias="preserveXRequestID")
    """Whether a request ID that a client sends is kept. Use `requestID` instead."""
    request_id: Annotated[
        str | None, Known("PreserveOrGenerate", "Preserve", "Generate", "Disable")
    ] = Field(default=None, validation_alias="requestID")
    """What becomes of `X-Request-ID`: the client's is kept or one is made (`PreserveOrGenerate`),
    the client's is kept (`Preserve`), one is always made (`Generate`), or there is none of ours and
    the client's is kept (`Disable`)."""
    early_request_headers: HeaderChanges | None = None
    """What is done with headers of requests before they are routed."""
    late_response_headers: HeaderChanges | None = None
    """What is done with headers of answers, after everything else has been done with them."""
    max_request_header_limit: Amount | None = None
    """How many bytes all headers of a request may have, such as `96Ki`, rounded up to KiB. Larger
    ones are answered 431."""
    host: ClientHost | None = None
    """How the host of a request is brought into its normal form."""
    _one = rule(
        "preserveXRequestID and requestID cannot both be set.",
        lambda it: it.preserve_x_request_id is None or it.request_id is None,
        "!(has(self.preserveXRequestID) && has(self.requestID))",
    )
