"""What to do if the API server refuses a status: drop it, retry, or wait.

A write is not retried if only another status could succeed. A failure of one object delays that
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
LONGEST_PAUSE = 60.0  # of one object, and of everything if the server asks for it
LONGEST_STANDSTILL = 10.0  # of everything otherwise


MOST_COMPLETIONS = 7  # about a minute in all


class Failures(NamedTuple):
    """The number of failures in a row, including this one."""

    of_object: int
    of_server: int


def verdict(error: errors.RequestError, failures: Failures) -> Verdict:
    """What to do after a failure."""
    standstill = backoff.delay(failures.of_server, FIRST_PAUSE, LONGEST_STANDSTILL)
    if not isinstance(error, errors.Refused):
        return Verdict("pause", standstill)
    pause = backoff.delay(failures.of_object, FIRST_PAUSE, LONGEST_PAUSE)
    match error.code:
        case 404 | 410:
            return Verdict("forget", pause)
        case 429 | 503:
            return Verdict("pause", min(error.retry_after or standstill, LONGEST_PAUSE))
        case 401 | 403 | 409:
            return Verdict("retry", pause)
        case code if code >= 500:
            return Verdict("retry", pause)
        case _:
            return Verdict("report")


def completion(times: int) -> float | None:
    """Seconds until a status is written again, after the API server has dropped a part of it so
    many times in a row; None if it is not written again before something changes."""
    if times > MOST_COMPLETIONS:
        return None
    return backoff.delay(times, FIRST_PAUSE, LONGEST_PAUSE)
