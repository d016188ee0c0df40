"""When a file is read and released. Time is a number."""

from contour.complaints import ManifestSource
from contour.files import schedule

A, B = ManifestSource("a.yaml"), ManifestSource("b.yaml")


def test_a_closed_file_is_read_at_once_and_released_when_it_has_been_quiet() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.CLOSED, 10)
    assert it.due(10) == ([A], [])
    assert it.next == 10.25
    assert it.due(10.24) == ([], [])
    assert it.due(10.25) == ([], [A])
    assert it.next is None


def test_a_replaced_file_is_read_and_released_at_once() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.REPLACED, 10)
    assert it.due(10) == ([A], [A])


def test_a_file_that_is_being_written_is_read_when_its_writer_closes_it() -> None:
    it = schedule.Schedule()
    for now in (10, 12, 16, 20):
        it.note(A, schedule.OPEN, now)
        assert it.due(now + 3) == ([], [])
    it.note(A, schedule.CLOSED, 22)
    assert it.due(22) == ([A], [])


def test_a_file_that_nobody_closes_is_read_and_much_later_released() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.OPEN, 10)
    assert it.due(15) == ([A], [])
    assert it.due(39) == ([], [])
    assert it.due(40) == ([], [A])


def test_who_writes_again_in_time_is_not_released() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.MISSING, 10)
    assert it.due(10) == ([A], [])
    it.note(A, schedule.OPEN, 10.2)
    assert it.due(11) == ([], [])


def test_one_busy_file_does_not_hold_up_another() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.OPEN, 10)
    it.note(B, schedule.CLOSED, 10)
    assert it.due(10) == ([B], [])
    assert it.is_waiting(A)
    assert not it.is_waiting(B)


def test_a_wait_is_extended_and_never_cut_short() -> None:
    it = schedule.Schedule()
    it.note(A, schedule.OPEN, 10)
    it.extend(A, schedule.FOUND, 11)
    assert it.next == 15
    it.extend(B, schedule.POLLED, 11)
    it.extend(B, schedule.POLLED, 11.5)
    assert it.due(12) == ([], [])
    assert it.due(12.5) == ([B], [])
    assert it.due(14.5) == ([], [B])
    assert it.due(40) == ([A], [A])
