"""Whose turn it is: each object once, one write at a time, seldom if it changes all the time."""

import pytest

from contour.status.backlog import Backlog
from tests.contour.status.world import proxy

A, B = proxy("a"), proxy("b")


def test_an_object_waits_once_however_often_it_changes() -> None:
    backlog = Backlog()
    backlog.add([A, B, A], 0.0)
    assert len(backlog) == 2
    assert [backlog.next(0.0), backlog.next(0.0), backlog.next(0.0)] == [A, B, None]


def test_what_changes_while_it_is_written_is_written_again_and_never_twice_at_once() -> None:
    backlog = Backlog()
    backlog.add([A], 0.0)
    assert backlog.next(0.0) == A
    backlog.add([A], 0.0)
    assert backlog.next(0.0) is None
    backlog.settled(A, 0.1)
    assert backlog.next(0.1) == A


def test_after_a_write_an_object_rests_and_others_do_not() -> None:
    backlog = Backlog()
    backlog.add([A], 0.0)
    backlog.next(0.0)
    backlog.written(A, 0.0)
    backlog.add([A, B], 0.1)
    assert backlog.next(0.1) == B
    assert backlog.next(0.1) is None
    assert backlog.next_time() == Backlog.shortest_rest
    assert backlog.next(Backlog.shortest_rest) == A


@pytest.mark.parametrize(("changes_a_second", "seconds"), [(1000, 10), (100, 10), (20, 50)])
def test_a_thousand_changes_in_a_row_are_few_writes(changes_a_second: int, seconds: int) -> None:
    backlog, writes, now = Backlog(), 0, 0.0
    for it in range(changes_a_second * seconds):
        now = it / changes_a_second
        backlog.add([A], now)
        if backlog.next(now):
            writes += 1
            backlog.written(A, now)
    assert writes <= 4 + seconds / Backlog.longest_rest


def test_who_has_been_quiet_for_a_while_is_written_soon_again() -> None:
    backlog, now = Backlog(), 0.0
    for _ in range(5):
        backlog.add([A], now)
        now = backlog.next_time() or now
        backlog.next(now)
        backlog.written(A, now)
    now += 3 * Backlog.longest_rest
    backlog.add([A], now)
    assert backlog.next(now) == A
    backlog.written(A, now)
    backlog.add([A], now)
    assert backlog.next_time() == now + Backlog.shortest_rest


def test_what_failed_is_tried_again_after_its_pause_and_only_once() -> None:
    backlog = Backlog()
    backlog.add([A], 0.0)
    backlog.next(0.0)
    backlog.add([A], 0.0)
    backlog.failed(A, 0.0, 5.0)
    backlog.add([A], 1.0)
    assert backlog.next(4.9) is None
    assert backlog.next(5.0) == A
    backlog.settled(A, 5.0)
    assert len(backlog) == 0
