"""Who asked for what: as a plain table of streams and names has it, at the cost of differences."""

from random import Random

import pytest

from contour.xds.envoy import Envoy
from contour.xds.fleet import Fleet
from contour.xds.resources import ENDPOINTS, Name
from contour.xds.subscription import Subscription

NAMES = [f"n{it}" for it in range(400)]


class Streams:
    """Streams of one fleet that ask for endpoints, and what each has asked for."""

    def __init__(self, number: int) -> None:
        self.fleet = Fleet("web")
        self.interest = self.fleet.interest
        self.asked: dict[Subscription, set[str]] = {}
        self._envoys: dict[Subscription, Envoy] = {}
        for each in range(number):
            envoy = self.fleet.envoy(str(each), is_aggregated=True)
            made = envoy.open(ENDPOINTS, lambda: None)
            self._envoys[made], self.asked[made] = envoy, set()

    def ask(self, by: Subscription, *names: str) -> None:
        new = [it for it in names if it not in by.names]
        self.interest.add(self._envoys[by], by, new)
        self.asked[by] |= set(names)

    def drop(self, by: Subscription, *names: str) -> None:
        for name in names:
            self.interest.remove(self._envoys[by], by, name)
        self.asked[by] -= set(names)

    def check(self) -> None:
        for by, asked in self.asked.items():
            assert (set(by.names), len(by.names)) == (asked, len(asked))
        for name in NAMES:
            found = list(self.interest.of(Name(ENDPOINTS, name)))
            assert {by for by, _ in found} == {by for by, it in self.asked.items() if name in it}
            assert len(found) == len(dict(found))
            assert all(envoy is self._envoys[by] for by, envoy in found)


def test_streams_that_ask_for_the_same_share_one_set() -> None:
    streams = Streams(3)
    first, second, other = streams.asked
    streams.ask(first, *NAMES)
    streams.ask(second, *NAMES)
    streams.ask(other, *NAMES[:-1])
    streams.drop(second, "n3")
    assert first.names.shared is second.names.shared
    assert other.names.shared is not first.names.shared
    assert (first.names.differences, second.names.differences) == (0, 1)
    streams.check()


def test_many_differences_make_another_set() -> None:
    streams = Streams(2)
    first, second = streams.asked
    for it in streams.asked:
        streams.ask(it, *NAMES)
    streams.drop(first, *NAMES[:200])
    assert first.names.differences < 100
    assert second.names.shared is not first.names.shared
    streams.check()


def test_nothing_is_left_of_streams_that_have_ended() -> None:
    streams = Streams(2)
    for it in streams.asked:
        streams.ask(it, *NAMES)
        streams.ask(it, "another")
        streams.interest.forget(it)
        streams.asked[it].clear()
    streams.check()
    assert not any(streams.interest.of(Name(ENDPOINTS, "another")))


@pytest.mark.parametrize("seed", range(10))
def test_any_history_ends_with_who_asked_for_what(seed: int) -> None:
    chance, streams = Random(seed), Streams(4)
    for _ in range(60):
        by = chance.choice(list(streams.asked))
        names = chance.sample(NAMES, chance.choice((1, 2, 70, 300)))
        if chance.random() < 0.6:
            streams.ask(by, *names)
        else:
            streams.drop(by, *names)
    streams.check()
