"""Custom error pages, which replace error responses; upstream Contour does not have them."""

from typing import Annotated

from pydantic import Field, Strict, StringConstraints

from crds.meta import model


@model
class ErrorStatusRange:
    """A range of HTTP status codes, from `start` up to but not including `end`."""

    start: Annotated[int, Strict(), Field(ge=400, le=599)]
    """The first status code of the range, from 400 to 599."""
    end: Annotated[int, Strict(), Field(ge=401, le=600)]
    """The status code after the last one of the range. It must be greater than `start`; otherwise
    what the page belongs to answers 503."""


@model
class ErrorPage:
    """A response that replaces error responses, both those of Envoy and those of the backend. If
    several pages match, the first one is used."""

    statuses: tuple[ErrorStatusRange, ...] = Field(min_length=1)
    """The status codes of the responses that this page replaces."""
    body: str = ""
    """The body of the page, at most 4096 bytes; with a longer one the virtual host or route answers
    503. The default is an empty body."""
    content_type: Annotated[str, StringConstraints(min_length=1, max_length=256)] = "text/plain"
    """The `Content-Type` header of the page. The default is `text/plain`."""
    status_code: Annotated[int, Strict(), Field(ge=200, le=599)] | None = None
    """The status code that the client gets, from 200 to 599. The default is the status code of the
    response that is replaced."""
