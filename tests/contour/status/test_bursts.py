"""When statuses wait for what users do, and for how long."""

from contour.status.bursts import Bursts


def test_a_few_changes_hold_nothing_back() -> None:
    bursts = Bursts()
    for number in range(100):
        bursts.note(1, number * 0.01)  # 25 in a moment
        assert bursts.held_until < number * 0.01


def test_many_at_once_hold_statuses_back_until_it_is_quiet() -> None:
    bursts = Bursts()
    for number in range(100):
        bursts.note(1, number * 0.001)
    assert bursts.held_until == 0.099 + Bursts.moment
    bursts.note(1, 5.0)
    assert bursts.held_until < 5.0


def test_however_much_happens_statuses_do_not_wait_for_long() -> None:
    bursts = Bursts()
    for number in range(3000):
        bursts.note(10, number * 0.01)
    assert bursts.held_until < Bursts.longest + 1 < 30
