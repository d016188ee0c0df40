"""Memory is given back once no stream has come for a while, once for all that came."""

from collections.abc import Callable

from contour.xds.memory import QUIET, Arrivals, give_back
from tests.testbed.programs import usage


class Clock:
    """By hand; does what was to be done later when that time has come."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.waiting.append((self.now + seconds, action))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [it for it in self.waiting if it[0] <= self.now]
        self.waiting = [it for it in self.waiting if it[0] > self.now]
        for _, action in due:
            action()


def test_it_is_given_back_once_when_streams_have_ceased_to_come() -> None:
    clock, given = Clock(), list[float]()
    arrivals = Arrivals(clock.later, lambda: clock.now, lambda: given.append(clock.now))
    for _ in range(3):
        arrivals.came()
        clock.pass_time(QUIET - 1)
    assert (given, len(clock.waiting)) == ([], 1)
    clock.pass_time(1)
    assert given == [clock.now]
    clock.pass_time(10 * QUIET)
    assert len(given) == 1
    arrivals.came()
    clock.pass_time(QUIET)
    assert len(given) == 2


def test_what_was_free_is_the_systems_again() -> None:
    """Of memory between pieces that are still in use."""
    taken = [bytes(2000) for _ in range(100_000)]
    kept = taken[::50]
    del taken
    before = usage()["resident"]
    give_back()
    assert usage()["resident"] < before - 50
    assert len(kept) == 2_000
