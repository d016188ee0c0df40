"""What several replicas say becomes one row each: who is connected, what is pending or refused."""

from typing import Any

import pytest

from contour.verdicts import Verdicts
from contour.verdicts.testimony import Listening, News, Place, Refusal
from contour.xds.fleet import Fleet
from contour.xds.resources import LISTENER, ROUTE, Change, Name
from crds.meta import ObjectRef
from dag import refusals, releases
from dag.engine.incremental import Engine
from dag.engine.view import Plan
from tests.contour.xds import world

APP = ObjectRef("HTTPProxy", "default", "app")
OTHER = ObjectRef("HTTPProxy", "default", "other")
HOST = (Name(ROUTE, "web"), "a.test")
HTTP = world.listener("http", 80, "web")
NONE = News(is_whole=True)


def leader(*published: Change) -> tuple[Verdicts, Fleet]:
    """The verdicts of a replica without Envoys that publishes this."""
    fleet = Fleet("web")
    fleet.publish(published)
    accepted = fleet.acceptance.pending
    found = Verdicts(
        "web", Engine(Plan()), lambda: None, lambda it: it not in accepted, fleet.acceptance
    )
    fleet.witness = found
    return found, fleet


def told(of: Verdicts, origin: ObjectRef = APP) -> Any:
    return of.engine.row(refusals.REFUSALS, origin)


def pending(of: Verdicts) -> Any:
    return of.engine.row(refusals.PENDING, "web")


def envoys(of: Verdicts) -> Any:
    return of.engine.row(refusals.ENVOYS, "web")


def version(fleet: Fleet) -> str:
    found = fleet.acceptance.version(HTTP.name)
    assert found is not None
    return found


def test_the_envoys_of_all_replicas_count() -> None:
    verdicts, _ = leader()
    assert envoys(verdicts) == 0
    verdicts.take("one", News(2))
    verdicts.take("two", News(1))
    verdicts.connected(1)
    assert envoys(verdicts) == 4
    verdicts.drop("one")
    assert envoys(verdicts) == 2


def test_releases_are_counted_over_all_replicas() -> None:
    verdicts, _ = leader()
    verdicts.take("one", News(3, releases={"1.39.3": 1, "1.40.0": 2}))
    verdicts.connected(2, {"1.40.0": 2})
    row = verdicts.engine.row(releases.CONNECTED, "web")
    assert row == (("1.39.3", 1), ("1.40.0", 4))
    verdicts.drop("one")
    verdicts.connected(0)
    assert verdicts.engine.row(releases.CONNECTED, "web") is None


def test_who_refuses_is_counted_over_all_replicas_if_others_do_not() -> None:
    verdicts, _ = leader()

    def refusers() -> Any:
        return verdicts.engine.row(refusals.REFUSERS, APP)

    verdicts.connected(4, {"1.40.0": 4})
    partly = Refusal((APP,), "bad", by=(("1.39.3", 1),))
    both: dict[Place, Refusal | None] = {
        HOST: partly,
        (Name(ROUTE, "tls"), "a.test"): partly,
    }  # the same Envoy, twice
    verdicts.take("one", News(2, refusals=both, releases={"1.39.3": 1, "1.40.0": 1}))
    assert refusers() == ((("1.39.3", 1),), 6)
    # Where none of a replica's Envoys has it, all go without.
    wholly: dict[Place, Refusal | None] = {HOST: Refusal((APP,), "bad")}
    verdicts.take("two", News(1, refusals=wholly, releases={"1.39.3": 1}))
    assert refusers() == ((("1.39.3", 2),), 7)
    verdicts.take("two", News(2, releases={"1.39.3": 2}))
    assert refusers() == ((("1.39.3", 3),), 8)
    verdicts.connected(0)
    verdicts.take("one", News(1, releases={"1.39.3": 1}))
    assert refusers() is None  # there is nobody else
    verdicts.drop("one")
    verdicts.drop("two")
    assert refusers() is None


def test_a_refusal_is_told_until_the_last_replica_takes_it_back() -> None:
    verdicts, _ = leader()
    for source, words in (("one", "first"), ("two", "second")):
        verdicts.take(source, News(refusals={HOST: Refusal((APP, OTHER), words)}))
    assert told(verdicts) == told(verdicts, OTHER) == ("first", "second")
    verdicts.take("one", News(refusals={HOST: None}))
    assert told(verdicts) == ("second",)
    verdicts.drop("two")
    assert told(verdicts) is None


def test_the_same_words_of_many_replicas_are_told_once() -> None:
    verdicts, _ = leader()
    for source in ("one", "two", "three"):
        verdicts.take(source, News(refusals={HOST: Refusal((APP,), "bad")}))
    assert told(verdicts) == ("bad",)


def test_all_there_is_to_say_ends_what_it_does_not_mention() -> None:
    verdicts, _ = leader()
    verdicts.take("one", News(3, refusals={HOST: Refusal((APP,), "bad")}))
    verdicts.take("one", News(1, refusals={HOST: Refusal((OTHER,), "worse")}, is_whole=True))
    assert (envoys(verdicts), told(verdicts), told(verdicts, OTHER)) == (1, None, ("worse",))


def test_a_refusal_of_something_newer_waits_until_we_serve_that() -> None:
    verdicts, fleet = leader(world.route_head("web"), world.host("web", "a.test", "one"))
    newer = world.host("web", "a.test", "two")
    assert newer.value is not None
    refusal = Refusal((APP,), "bad", newer.value.digest.hex())
    verdicts.take("ahead", News(refusals={HOST: refusal}))
    assert told(verdicts) is None
    fleet.publish([newer])
    assert told(verdicts) == ("bad",)
    fleet.publish([world.host("web", "a.test", "three")])
    assert told(verdicts) == ("bad",), "it holds until the replica takes it back"
    verdicts.take("ahead", News(refusals={HOST: None}))
    assert told(verdicts) is None


@pytest.mark.parametrize("ends", [lambda it: it.drop("ahead"), lambda it: it.take("ahead", NONE)])
def test_a_refusal_that_never_came_to_hold_leaves_nothing_behind(ends: Any) -> None:
    verdicts, fleet = leader(world.route_head("web"))
    host = world.host("web", "a.test", "two")
    assert host.value is not None
    verdicts.take("ahead", News(refusals={HOST: Refusal((APP,), "bad", host.value.digest.hex())}))
    ends(verdicts)
    fleet.publish([host])
    assert told(verdicts) is None


@pytest.mark.parametrize(
    ("envoys", "listening", "is_pending"),
    [
        (1, lambda ours: Listening(ours, is_pending=False), False),
        (1, lambda ours: Listening(ours, is_pending=True), True),
        (1, lambda _: Listening("another", is_pending=False), True),  # ahead, or behind
        (1, lambda _: Listening("", is_pending=False), False),  # of another build
        (1, lambda _: None, True),  # has not heard of it yet
        (0, lambda _: None, False),  # has nobody to tell
    ],
)
def test_a_listener_is_pending_until_every_replica_has_our_version_accepted(
    envoys: int, listening: Any, is_pending: bool
) -> None:
    verdicts, fleet = leader(HTTP)
    verdicts.take("one", News(envoys, {"http": listening(version(fleet))}))
    assert pending(verdicts) == (("http",) if is_pending else None)


def test_a_listener_that_we_change_is_pending_at_once() -> None:
    verdicts, fleet = leader(HTTP)
    verdicts.take("one", News(1, {"http": Listening(version(fleet), is_pending=False)}))
    assert pending(verdicts) is None
    fleet.publish([world.listener("http", 81, "web"), world.listener("https", 443, "web")])
    assert pending(verdicts) == ("http", "https")
    found = fleet.acceptance.version(Name(LISTENER, "https")) or ""
    verdicts.take("one", News(None, {"http": Listening(version(fleet), is_pending=False)}))
    verdicts.take("one", News(None, {"https": Listening(found, is_pending=False)}))
    assert pending(verdicts) is None


def test_a_listener_that_is_gone_is_pending_nowhere() -> None:
    verdicts, fleet = leader(HTTP)
    verdicts.take("one", News(1, {"http": Listening("old", is_pending=False)}))
    fleet.publish(world.gone(HTTP))
    assert pending(verdicts) is None


def test_what_is_refused_as_published_has_the_version_that_is_published() -> None:
    _, one = leader(world.route_head("web"), HTTP)
    _, other = leader(world.route_head("web"), HTTP)
    assert version(one) == version(other)
    other.publish([world.listener("http", 81, "web")])
    assert version(one) != version(other)
