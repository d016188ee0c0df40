"""What one replica says is what another reads; and what is none of ours is told apart."""

import orjson
import pytest

from contour.envoyreports import encoding, report
from contour.envoyreports.report import ListenerState, Refusal, ReportDelta
from contour.xds.resources import ROUTE, Name
from crds.meta import ObjectRef

APP = ObjectRef("HTTPProxy", "default", "app")
PLACE = (Name(ROUTE, "web"), "a.test")


def read(delta: ReportDelta, *, is_comparable: bool = True) -> list[ReportDelta]:
    found = [
        encoding.read_delta(it, is_comparable=is_comparable)
        for it in encoding.messages("web", delta)
    ]
    assert all(it and it[0] == "web" for it in found)
    return [it[1] for it in found if it]


def test_news_arrive_as_they_were() -> None:
    delta = ReportDelta(
        3,
        {"http": ListenerState("v1", is_pending=True), "gone": None},
        {
            PLACE: Refusal((APP,), "bad", "d1", (("", 1), ("1.39.3", 2))),
            (Name(ROUTE, "web"), ""): None,
        },
        releases={"": 1, "1.39.3": 2},
        is_whole=True,
    )
    assert read(delta) == [delta]
    assert read(ReportDelta(None, {"http": None})) == [ReportDelta(None, {"http": None})]


def test_what_is_no_release_is_left_out() -> None:
    (found,) = read(ReportDelta(3, releases={"1.39.3": 1, "<b>": 2}))
    assert found.releases == {"1.39.3": 1}


def test_a_replica_of_an_older_build_tells_no_releases() -> None:
    row = [*PLACE[0], PLACE[1], [[[*APP]], "bad", "d1"]]
    message = orjson.dumps({"fleet": "web", "envoys": 1, "refusals": [row]})
    found = encoding.read_delta(message, is_comparable=True)
    assert found == ("web", ReportDelta(1, refusals={PLACE: Refusal((APP,), "bad", "d1")}))


def test_many_refusals_go_in_several_messages_and_come_to_the_same() -> None:
    refusals = {(Name(ROUTE, "web"), f"{n}.test"): Refusal((APP,), "bad") for n in range(1234)}
    parts = read(ReportDelta(1, {}, dict(refusals), is_whole=True))
    assert [it.is_whole for it in parts] == [True, False, False]
    said = report.EnvoyReport()
    for part in parts:
        said.take(part.against(said))
    assert said == report.EnvoyReport(1, {}, refusals)


def test_many_origins_are_cut() -> None:
    (found,) = read(ReportDelta(refusals={PLACE: Refusal((APP,) * 99, "bad")}))
    refusal = found.refusals[PLACE]
    assert refusal is not None
    assert len(refusal.origins) == encoding.MOST_ORIGINS


def test_what_another_build_computes_is_not_compared() -> None:
    delta = ReportDelta(
        1, {"http": ListenerState("v1", is_pending=True)}, {PLACE: Refusal((APP,), "bad", "d1")}
    )
    assert read(delta, is_comparable=False) == [
        ReportDelta(
            1, {"http": ListenerState("", is_pending=True)}, {PLACE: Refusal((APP,), "bad", "")}
        )
    ]


def test_a_sign_of_life_says_nothing() -> None:
    assert encoding.read_delta(encoding.ALIVE, is_comparable=True) is None


def test_a_greeting_arrives() -> None:
    it = encoding.Greeting("pod-1", "0.1.0", ("web", "other"))
    assert encoding.read_greeting(encoding.greeting(it)) == it


def test_the_word_of_a_leader_arrives() -> None:
    it = encoding.LeaderStatus("0.1.0", True, {"Service": 7}, ("10.0.0.1:8001",))
    assert encoding.read_leader_status(encoding.leader_status(it)) == it
    assert encoding.read_leader_status(encoding.ALIVE) is None


@pytest.mark.parametrize(
    "message",
    [b"", b"[]", b'{"is_current": 1}', b'{"is_current": 1, "build": "", "events": 1, "peers": []}'],
)
def test_what_no_leader_says_is_told_apart(message: bytes) -> None:
    with pytest.raises(encoding.Malformed):
        encoding.read_leader_status(message)


def test_a_greeting_of_before_has_no_address() -> None:
    found = encoding.read_greeting(b'{"replica": "pod-1", "build": "1", "fleets": []}')
    assert found == encoding.Greeting("pod-1", "1", (), "")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"fleet": "web", "listeners": []}',
        b'{"fleet": "web", "listeners": {"http": [1]}}',
        b'{"fleet": "web", "listeners": {"http": 0}}',
        b'{"fleet": "web", "releases": {"1.40.0": "many"}}',
        b'{"fleet": "web", "refusals": [[1, 2, 3]]}',
        b'{"fleet": "web", "refusals": [["t", "n", "p", [[["one"]], "words", "d"]]]}',
        b'{"fleet": "web", "refusals": 1}',
        b'{"fleet": "web", "envoys": "many"}',
    ],
)
def test_what_is_none_of_ours_is_told_apart(message: bytes) -> None:
    with pytest.raises(encoding.Malformed):
        encoding.read_delta(message, is_comparable=True)
    with pytest.raises(encoding.Malformed):
        encoding.read_greeting(message)
