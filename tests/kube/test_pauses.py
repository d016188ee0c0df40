"""Pauses grow, end growing, differ, and are never shorter than asked for."""

from kube.pauses import Pauses


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Pauses(first=1.0, longest=4.0)
    for expected in (1.0, 2.0, 4.0, 4.0):
        assert expected / 2 <= pauses.next() <= expected * 1.5
    pauses.reset()
    assert pauses.next() <= 1.5


def test_a_server_may_ask_for_more() -> None:
    assert Pauses(first=1.0).next(at_least=60.0) == 60.0


def test_no_two_wait_equally_long() -> None:
    assert len({Pauses().next() for _ in range(100)}) > 90
