"""Delays grow, end growing, differ, and are never shorter than asked for."""

import pytest

from kube import backoff
from kube.backoff import Backoff


@pytest.mark.parametrize(("failures", "most"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 4.0), (99, 4.0)])
def test_delays_double_up_to_the_longest(failures: int, most: float) -> None:
    assert most / 2 <= backoff.delay(failures, first=1.0, longest=4.0) <= most


def test_a_success_begins_again() -> None:
    found = Backoff(first=1.0, longest=4.0)
    for most in (1.0, 2.0, 4.0, 4.0):
        assert most / 2 <= found.next() <= most
    found.reset()
    assert found.next() <= 1.0


def test_a_server_may_ask_for_more() -> None:
    assert Backoff(first=1.0).next(at_least=60.0) == 60.0


def test_no_two_wait_equally_long() -> None:
    assert len({Backoff().next() for _ in range(100)}) > 90
