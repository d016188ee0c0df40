"""Problems with objects in the cluster, for the status of the configuration."""

from enum import StrEnum
from typing import NamedTuple

from kube import errors
from provisioning.keeping.objects import NotOwned, Terminating


class Reason(StrEnum):
    """The reason of a problem with one object."""

    NOT_OWNED = "NotOwned"
    """There is an object of that name that is not ours."""
    TERMINATING = "Terminating"
    """The object is being deleted, and is made again after that."""
    NO_AUTHORITY = "NoAuthority"
    """There is no authority that could sign its certificate."""
    FORBIDDEN = "Forbidden"
    """The API server answers 403."""
    REJECTED = "Rejected"
    """The API server answers 422."""
    REQUEST_FAILED = "RequestFailed"
    """The API server answers with another error."""


class Problem(NamedTuple):
    """One reason why an instance is not as it should be."""

    reason: str
    """For programs."""
    message: str
    """For people."""
    is_settled: bool = False
    """The problem is only reported: apart from it, everything is as it should be."""

    @property
    def is_error(self) -> bool:
        """Whether it needs action by somebody."""
        return not self.is_settled and self.reason != Reason.TERMINATING


FAILURES = (NotOwned, Terminating, errors.Refused)
"""Failures that are reported; after any other one the whole reconciliation is repeated."""


def problem(what: str, error: Exception) -> Problem:
    """The problem for such a failure; `what` is the object or the action."""
    match error:
        case errors.Refused():
            reason = _REASONS.get(error.code, Reason.REQUEST_FAILED)
            return Problem(reason, f"{what}: {error.message}")
        case Terminating():
            return Problem(Reason.TERMINATING, str(error))
        case _:
            return Problem(Reason.NOT_OWNED, str(error))


_REASONS = {403: Reason.FORBIDDEN, 422: Reason.REJECTED}
