"""What clients get in place of some answers, as a BackendTrafficPolicy says (Envoy Gateway 1.9)."""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.opaque import Opaque
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_LEFT = Unserved()

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
class OverrideMatch:
    """The answers that are replaced."""

    status_codes: tuple[StatusMatch, ...] = Field(default=(), max_length=50)
    """The status codes of the answers. Any one of them will do."""
    response_headers: Annotated[tuple[Opaque, ...], _LEFT] = ()
    """Conditions on the headers of the answers. An entry with any is left out."""


@model
class OverrideBody:
    """The body of the answer."""

    type: Annotated[Literal["Inline", "ValueRef"], Unserved(values=("ValueRef",))] = "Inline"
    """Where the body is. The default is `Inline`. With `ValueRef` the entry is left out."""
    inline: str | None = None
    """The body itself, at most 4096 bytes."""
    value_ref: Annotated[Opaque | None, _LEFT] = None
    """The ConfigMap that has the body."""


@model
class OverrideResponse:
    """The answer that clients get."""

    content_type: str | None = None
    """The content type of the answer. The default is `text/plain`."""
    body: OverrideBody | None = None
    """The body of the answer; it is empty if absent."""
    status_code: Status | None = None
    """The status code of the answer. The default is the original one."""
    header: Annotated[Opaque | None, _LEFT] = None
    """Further headers of the answer."""


@model
class ResponseOverride:
    """Answers that are replaced, and what replaces them."""

    match: OverrideMatch
    """The answers that are replaced."""
    response: OverrideResponse | None = None
    """The answer that clients get."""
    redirect: Annotated[Opaque | None, _LEFT] = None
    """Where clients are sent instead. An entry with it is left out."""
    source: Annotated[
        Literal["All", "Local", "Backend"] | None, Unserved(values=("Local", "Backend"))
    ] = None
    """Whose answers are replaced: `All`. An entry with `Local` or `Backend` is left out."""
