"""The two ways in which a request fails: the API server refuses it, or does not answer.

Reasons are those of Kubernetes' `Status` objects (API conventions, "Response Status Kind"), so
callers compare codes and reasons, never messages.
"""

from typing import NamedTuple

from crds import raw
from crds.raw import Raw


class Cause(NamedTuple):
    """One of the errors in an object that was sent."""

    field: str
    message: str


class RequestError(Exception):
    """A request was not answered as asked."""


class Refused(RequestError):  # noqa: N818 - it reads as what it is
    """The API server has answered with an error."""

    def __init__(
        self,
        code: int,
        reason: str = "",
        message: str = "",
        retry_after: float | None = None,
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        self.reason = reason  # `Conflict`, `NotFound`, `Expired` …; empty from a proxy in between
        self.message = message
        self.retry_after = retry_after  # seconds
        self.causes = causes


class Unreachable(RequestError):  # noqa: N818 - as above
    """No answer, half an answer, or one that is not of an API server."""


def refused(code: int, status: object, retry_after: float | None = None) -> Refused:
    """The error of a `Status` object, or of whatever came in its place."""
    if not raw.is_mapping(status):
        return Refused(code, "", str(status)[:_LONGEST], retry_after)
    details = raw.mapping(status.get("details"))
    if retry_after is None and isinstance(seconds := details.get("retryAfterSeconds"), int):
        retry_after = float(seconds)
    message = str(status.get("message") or "")[:_LONGEST]
    return Refused(code, str(status.get("reason") or ""), message, retry_after, _causes(details))


_LONGEST = 2000  # characters of a message


def _causes(details: Raw) -> tuple[Cause, ...]:
    return tuple(
        Cause(str(it.get("field") or ""), str(it.get("message") or ""))
        for it in filter(raw.is_mapping, raw.items(details.get("causes")))
    )
