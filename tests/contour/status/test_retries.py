"""What follows from a failure."""

import pytest

from contour.status.retries import FIRST_PAUSE, LONGEST_PAUSE, LONGEST_STANDSTILL, Failures, verdict
from kube.errors import Refused, RequestError, Unreachable

ONCE = Failures(1, 1)


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (Unreachable("no answer"), "pause"),
        (Refused(429), "pause"),
        (Refused(503), "pause"),
        (Refused(500), "retry"),
        (Refused(504), "retry"),
        (Refused(403), "retry"),
        (Refused(401), "retry"),
        (Refused(409), "retry"),
        (Refused(404), "forget"),
        (Refused(422), "report"),
        (Refused(400), "report"),
        (Refused(413), "report"),
    ],
)
def test_each_failure_is_met_in_its_own_way(error: RequestError, act: str) -> None:
    assert verdict(error, ONCE).act == act


@pytest.mark.parametrize(
    ("asked", "seconds"), [(7.0, 7.0), (86_400.0, LONGEST_PAUSE), (float("inf"), LONGEST_PAUSE)]
)
def test_the_server_says_how_long_to_wait_within_a_limit(asked: float, seconds: float) -> None:
    assert verdict(Refused(429, retry_after=asked), ONCE).seconds == seconds


@pytest.mark.parametrize(
    ("error", "longest"),
    [(Refused(500), LONGEST_PAUSE), (Unreachable("no answer"), LONGEST_STANDSTILL)],
)
def test_pauses_grow_up_to_a_limit(error: RequestError, longest: float) -> None:
    first = verdict(error, ONCE).seconds
    assert FIRST_PAUSE / 2 <= first <= FIRST_PAUSE
    last = verdict(error, Failures(10_000, 10_000)).seconds
    assert longest / 2 <= last <= longest
