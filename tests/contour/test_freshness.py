"""When a replica knows less than the leader: what it hears, what it knows, and since when."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from contour.envoyreports.encoding import LeaderStatus
from contour.freshness import FORGOTTEN, Freshness, Position

SILENCE = 10.0
"""Seconds after which a replica notices that it is cut off."""
CURRENT = LeaderStatus("1", True, {}, ())
CUT_OFF = "the API server has not answered for 10 s, but it answers the leader"


@dataclass
class Here:
    """A replica, and what passes."""

    silence: float = 0.0
    known: dict[str, Position] = field(default_factory=dict)
    now: float = 1000.0
    freshness: Freshness = field(init=False)

    def __post_init__(self) -> None:
        self.freshness = Freshness(SILENCE, lambda: self.silence, self.positions, lambda: self.now)

    def positions(self) -> Iterator[tuple[str, Position]]:
        yield from self.known.items()

    def hear(
        self, word: LeaderStatus | None, seconds: int = 1, *, is_comparable: bool = True
    ) -> str:
        """The same word every second; what is lacking then."""
        for _ in range(seconds):
            self.now += 1.0
            self.freshness.take(word, is_comparable=is_comparable)
        return self.freshness.lack


@pytest.mark.parametrize(
    ("silence", "word", "lack"),
    [
        (10.0, CURRENT, CUT_OFF),
        (9.9, CURRENT, ""),
        (10.0, CURRENT._replace(is_current=False), ""),
        (10.0, None, ""),
        (0.0, CURRENT, ""),
    ],
)
def test_who_is_cut_off_is_outdated_while_the_leader_is_not(
    silence: float, word: LeaderStatus | None, lack: str
) -> None:
    assert Here(silence).hear(word) == lack


def test_what_a_leader_said_is_forgotten_when_it_falls_silent() -> None:
    here = Here(silence=10.0)
    assert here.hear(CURRENT)
    here.now += FORGOTTEN
    assert not here.freshness.lack


def told(**events: int) -> LeaderStatus:
    return CURRENT._replace(events=events)


def test_an_event_that_does_not_come_is_missed_after_a_while() -> None:
    here = Here(known={"Service": Position(5, 10), "Secret": Position(0, 20)})
    assert not here.hear(told(Service=11, Secret=20), 10)
    assert here.hear(told(Service=11, Secret=20)) == "the leader has newer objects: Service"
    here.known["Service"] = Position(11, 11)
    assert not here.hear(told(Service=11, Secret=20))


def test_each_event_has_its_time_where_there_is_always_one_under_way() -> None:
    here = Here(known={"Service": Position(5, 10)})
    for event in range(11, 60):
        assert not here.hear(told(Service=event))
        here.known["Service"] = Position(event - 1, event - 1)


def test_a_replica_that_stands_still_is_found_though_the_leader_does_not() -> None:
    here = Here(known={"Service": Position(5, 10)})
    lacks = [here.hear(told(Service=event)) for event in range(11, 22)]
    assert lacks == [""] * 10 + ["the leader has newer objects: Service"]


@pytest.mark.parametrize(
    ("known", "word", "is_comparable"),
    [
        (Position(0, 0), told(Service=11), True),  # its versions are no numbers, or it is absent
        (None, told(Service=11), True),  # not followed here
        (Position(5, 10), told(Service=11), False),  # of another build
        (Position(5, 10), told(), True),
        (Position(5, 10), told(Service=10), True),
    ],
)
def test_what_cannot_be_compared_is_not_missed(
    known: Position | None, word: LeaderStatus, is_comparable: bool
) -> None:
    here = Here(known={"Service": known} if known else {})
    assert not here.hear(word, 30, is_comparable=is_comparable)


def test_an_api_server_that_went_back_takes_along_what_was_missed() -> None:
    here = Here(known={"Service": Position(5, 10)})
    assert here.hear(told(Service=1_000), 11)
    assert not here.hear(told(Service=7))
    assert not here.hear(told(Service=11), 10)


@pytest.mark.parametrize(
    ("is_leader", "silence", "is_current"),
    [(True, 4.9, True), (True, 5.0, False), (False, 0, False)],
)
def test_a_leader_speaks_for_itself_while_its_own_api_server_answers(
    is_leader: bool, silence: float, is_current: bool
) -> None:
    here = Here(silence, {"Service": Position(5, 10), "Secret": Position(0, 20)})
    word = here.freshness.leader_status(is_leader=is_leader, build="1", peers=("a:1",))
    assert word == LeaderStatus("1", is_current, {"Service": 5}, ("a:1",))
