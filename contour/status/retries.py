"""What follows when the API server does not take a status: forget it, try again, or wait.

A refusal that only another status can mend is not repeated. What is one object's trouble puts off
that object; what is the API server's own puts off everything.
"""

import random
from typing import Literal, NamedTuple

from kube import errors


class Verdict(NamedTuple):
    """What is to be done, and not before so many seconds; to forget is for what is really gone."""

    act: Literal["forget", "report", "retry", "pause"]
    seconds: float = 0.0


FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0  # of one object
LONGEST_STANDSTILL = 10.0  # of everything


class Failures(NamedTuple):
    """How many there were in a row, with this one."""

    of_object: int
    of_server: int


def verdict(error: errors.RequestError, failures: Failures) -> Verdict:
    """What follows from the last of these failures."""
    standstill = _grown(failures.of_server, LONGEST_STANDSTILL)
    if not isinstance(error, errors.Refused):
        return Verdict("pause", standstill)
    match error.code:
        case 404 | 410:
            return Verdict("forget", _grown(failures.of_object, LONGEST_PAUSE))
        case 429 | 503:
            return Verdict("pause", error.retry_after or standstill)
        case 401 | 403 | 409:
            return Verdict("retry", _grown(failures.of_object, LONGEST_PAUSE))
        case code if code >= 500:
            return Verdict("retry", _grown(failures.of_object, LONGEST_PAUSE))
        case _:
            return Verdict("report")


def _grown(failures: int, longest: float) -> float:
    """Doubles with each failure; never the same for many at once."""
    pause: float = min(longest, FIRST_PAUSE * 2 ** min(failures - 1, 10))
    return pause * random.uniform(0.5, 1.0)
