"""What clients see in place of an error answer; all of it is ours, beside Contour's fields."""

from typing import Annotated

from pydantic import Field, Strict, StringConstraints

from crds.meta import model


@model
class ErrorStatusRange:
    """Status codes from `start` up to, but not including, `end`."""

    start: Annotated[int, Strict(), Field(ge=400, le=599)]
    """The first one."""
    end: Annotated[int, Strict(), Field(ge=401, le=600)]
    """The one after the last."""


@model
class ErrorPage:
    """An answer in place of others."""

    statuses: tuple[ErrorStatusRange, ...] = Field(min_length=1)
    """The answers that it replaces, a Service's too."""
    body: str = ""
    """Its body; at most 4096 bytes."""
    content_type: Annotated[str, StringConstraints(min_length=1, max_length=256)] = "text/plain"
    """What the body is."""
    status_code: Annotated[int, Strict(), Field(ge=200, le=599)] | None = None
    """Its status; that of the answer it replaces, if absent."""
