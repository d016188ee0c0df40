"""When statuses wait for a change that is on its way to Envoys, and for how long."""

from contour.status.precedence import Precedence


def test_statuses_wait_for_a_change_and_no_longer_than_the_longest() -> None:
    underway = False
    precedence = Precedence(lambda: underway)
    assert not precedence.holds(0.0)
    underway = True
    late = 5.0 + Precedence.longest
    assert [precedence.holds(it) for it in (5.0, late - 0.01, late, late + 9)] == [
        *(True, True, False, False)
    ]
    underway = False
    assert not precedence.holds(late + 10)
    underway = True
    assert precedence.holds(late + 11)
