"""What clients get in place of some answers, as a BackendTrafficPolicy says (Envoy Gateway 1.9)."""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.clientheaders import NameMatch
from crds.fields import Port, Subdomain
from crds.gateway.filters import HTTPHeaderFilter, HTTPPathModifier
from crds.gateway.references import LocalObjectReference
from crds.meta import model
from crds.rules import rule

Status = Annotated[int, Field(ge=100, le=599)]


@model
class StatusRange:
    """Status codes from one to another."""

    start: Status
    """The first status code of the range."""
    end: Status
    """The last status code of the range."""
    _order = rule(
        "end must be greater than start", lambda it: it.end > it.start, "self.end > self.start"
    )


@model
class StatusMatch:
    """A status code, or a range of them."""

    type: Literal["Value", "Range"] = "Value"
    """Which of its neighbours is meant. The default is `Value`."""
    value: Status | None = None
    """The status code, for the type `Value`."""
    range: StatusRange | None = None
    """The status codes, for the type `Range`."""


@model
class AnswerHeader:
    """A condition on a header of an answer."""

    name: Annotated[str, Field(min_length=1, max_length=256)]
    """The name of the header, compared without case."""
    value: NameMatch
    """What the value must be, compared with case."""


@model
class OverrideMatch:
    """The answers that are replaced."""

    status_codes: tuple[StatusMatch, ...] = Field(default=(), max_length=50)
    """The status codes of the answers. Any one of them will do."""
    response_headers: tuple[AnswerHeader, ...] = Field(default=(), max_length=16)
    """Conditions on the headers of the answers. All of them must hold."""


@model
class OverrideBody:
    """The body of the answer."""

    type: Literal["Inline", "ValueRef"] = "Inline"
    """Where the body is. The default is `Inline`."""
    inline: str | None = None
    """The body itself, at most 4096 bytes. `%REQ(name)%` in it is a header of the request; of
    Envoy's other operators those have an effect that headers of an HTTPProxy may have."""
    value_ref: LocalObjectReference | None = None
    """The ConfigMap that has the body, in the key `response.body`, at most 4096 bytes."""


@model
class OverrideResponse:
    """The answer that clients get."""

    content_type: str | None = None
    """The content type of the answer. The default is `text/plain`."""
    body: OverrideBody | None = None
    """The body of the answer; it is empty if absent."""
    status_code: Status | None = None
    """The status code of the answer. The default is the original one."""
    header: HTTPHeaderFilter | None = None
    """Further headers of the answer. None can be removed."""


@model
class OverrideRedirect:
    """Where clients are sent; what is absent stays as it was requested."""

    scheme: Literal["http", "https"] | None = None
    """The scheme: `http` or `https`."""
    hostname: Subdomain | None = None
    """The host to which clients are sent; that of the request if absent."""
    path: HTTPPathModifier | None = None
    """The path, by `ReplaceFullPath`."""
    port: Port | None = None
    """The port. Without it, it is the usual one of the scheme if `scheme` or `hostname` is set."""
    status_code: Literal[301, 302] = 302
    """The status code: 301 or 302, which is the default."""


@model
class ResponseOverride:
    """Answers that are replaced, and what replaces them."""

    match: OverrideMatch
    """The answers that are replaced."""
    response: OverrideResponse | None = None
    """The answer that clients get."""
    redirect: OverrideRedirect | None = None
    """Where clients are sent instead."""
    source: Literal["All", "Local", "Backend"] | None = None
    """Whose answers are replaced: those of Envoy (`Local`), those of backends (`Backend`), or both
    (`All`), which is the default."""
