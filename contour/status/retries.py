"""What follows when the API server does not take a status: drop it, try again, or wait.

A refusal that only another status can mend is not repeated. A failure of one object delays that
object; a failure of the API server itself delays all of them.
"""

from typing import Literal, NamedTuple

from kube import backoff, errors


class Verdict(NamedTuple):
    """The action after a failed write, and its delay.

    `forget` is only for objects that no longer exist, and `pause` delays all objects.
    """

    act: Literal["forget", "report", "retry", "pause"]
    seconds: float = 0.0


FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0  # of one object
LONGEST_STANDSTILL = 10.0  # of everything


MOST_COMPLETIONS = 7  # about a minute in all


class Failures(NamedTuple):
    """How many there were in a row, with this one."""

    of_object: int
    of_server: int


def verdict(error: errors.RequestError, failures: Failures) -> Verdict:
    """What follows from the last of these failures."""
    standstill = backoff.delay(failures.of_server, FIRST_PAUSE, LONGEST_STANDSTILL)
    if not isinstance(error, errors.Refused):
        return Verdict("pause", standstill)
    pause = backoff.delay(failures.of_object, FIRST_PAUSE, LONGEST_PAUSE)
    match error.code:
        case 404 | 410:
            return Verdict("forget", pause)
        case 429 | 503:
            return Verdict("pause", error.retry_after or standstill)
        case 401 | 403 | 409:
            return Verdict("retry", pause)
        case code if code >= 500:
            return Verdict("retry", pause)
        case _:
            return Verdict("report")


def completion(times: int) -> float | None:
    """Seconds until a status is written again of which the API server has dropped a part, so many
    times in a row; None if that is how it is to stay, until something changes."""
    if times > MOST_COMPLETIONS:
        return None
    return backoff.delay(times, FIRST_PAUSE, LONGEST_PAUSE)
