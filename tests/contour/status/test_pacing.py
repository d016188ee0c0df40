"""An object that changes all the time is written seldom, and any other one at once."""

import pytest

from contour.status.pacing import Pacing
from tests.contour.status.world import proxy

A, B = proxy("a"), proxy("b")


def test_after_a_write_an_object_rests_and_others_do_not() -> None:
    pacing = Pacing()
    assert pacing.written(A, 0.0) == Pacing.shortest
    assert pacing.left(A, 0.1) == pytest.approx(Pacing.shortest - 0.1)
    assert pacing.left(B, 0.1) == 0.0
    assert pacing.left(A, Pacing.shortest) == 0.0


@pytest.mark.parametrize(("changes_a_second", "seconds"), [(1000, 10), (100, 10), (20, 50)])
def test_a_thousand_changes_in_a_row_are_few_writes(changes_a_second: int, seconds: int) -> None:
    pacing, writes = Pacing(), 0
    for it in range(changes_a_second * seconds):
        now = it / changes_a_second
        if not pacing.left(A, now):
            writes += 1
            pacing.written(A, now)
    assert writes <= 4 + seconds / Pacing.longest


def test_an_object_that_was_quiet_for_a_while_is_written_soon_again() -> None:
    pacing, now = Pacing(), 0.0
    for _ in range(5):
        now += pacing.written(A, now)
    now += 3 * Pacing.longest
    assert pacing.left(A, now) == 0.0
    assert pacing.written(A, now) == Pacing.shortest


def test_a_status_that_others_overwrite_is_restored_ever_more_seldom() -> None:
    pacing, now = Pacing(), 0.0
    pauses = [pacing.written(A, now)]
    for _ in range(9):
        now += pauses[-1]
        pauses.append(pacing.written(A, now, is_restored=True))
    assert pauses == sorted(pauses)
    assert pauses[-1] == Pacing.longest_restored
    assert pacing.written(A, now) == Pacing.longest


def test_what_failed_waits_for_its_pause() -> None:
    pacing = Pacing()
    assert pacing.postpone(A, 0.0, 5.0) == 5.0
    assert pacing.left(A, 1.0) == 4.0
    assert pacing.left(A, 5.0) == 0.0
