"""What several replicas say becomes one row each: who is connected, what is pending or refused."""

from typing import Any

import pytest

from contour.envoy import outputs
from contour.envoyreports import FleetReports, RefusedObjects, encoding
from contour.envoyreports.report import MOST_WORDS, ListenerState, Refusal, ReportDelta
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedPart
from contour.xds.resources import LISTENER, ROUTE, Change, Name, PartKey
from crds.meta import ObjectRef
from dag import exports, refusals, releases
from dag.engine.incremental import Engine
from dag.engine.view import Plan
from tests.contour.xds import world

APP = ObjectRef("HTTPProxy", "default", "app")
OTHER = ObjectRef("HTTPProxy", "default", "other")
HOST = (Name(ROUTE, "web"), "a.test")
HTTP = world.listener("http", 80, "web")
NONE = ReportDelta(is_whole=True)


def leader(*published: Change) -> tuple[FleetReports, Fleet]:
    """The reports of a replica without Envoys that publishes this."""
    fleet = Fleet("web")
    fleet.publish(published)
    acceptance = fleet.acceptance
    found = FleetReports(
        *("web", RefusedObjects(Engine(Plan())), lambda: None),
        *(lambda it: not acceptance.is_pending(it), acceptance),
    )
    fleet.observer = found
    return found, fleet


def told(of: FleetReports, origin: ObjectRef = APP) -> Any:
    return of.engine.row(refusals.REFUSALS, origin)


def pending(of: FleetReports) -> Any:
    return of.engine.row(refusals.PENDING, "web")


def envoys(of: FleetReports) -> Any:
    return of.engine.row(refusals.ENVOYS, "web")


def version(fleet: Fleet) -> str:
    found = fleet.acceptance.version(HTTP.name)
    assert found is not None
    return found


def test_the_envoys_of_all_replicas_count() -> None:
    reports, _ = leader()
    assert envoys(reports) == 0
    reports.take("one", ReportDelta(2))
    reports.take("two", ReportDelta(1))
    reports.connected(1)
    assert envoys(reports) == 4
    reports.drop("one")
    assert envoys(reports) == 2


def test_releases_are_counted_over_all_replicas() -> None:
    reports, _ = leader()
    reports.take("one", ReportDelta(3, releases={"1.39.3": 1, "1.40.0": 2}))
    reports.connected(2, {"1.40.0": 2})
    row = reports.engine.row(releases.CONNECTED, "web")
    assert row == (("1.39.3", 1), ("1.40.0", 4))
    reports.drop("one")
    reports.connected(0)
    assert reports.engine.row(releases.CONNECTED, "web") is None


def test_who_refuses_is_counted_over_all_replicas_if_others_do_not() -> None:
    reports, _ = leader()

    def refusers() -> Any:
        return reports.engine.row(refusals.REFUSERS, APP)

    reports.connected(4, {"1.40.0": 4})
    partly = Refusal((APP,), "bad", by=(("1.39.3", 1),))
    both: dict[PartKey, Refusal | None] = {
        HOST: partly,
        (Name(ROUTE, "tls"), "a.test"): partly,
    }  # the same Envoy, twice
    reports.take("one", ReportDelta(2, refusals=both, releases={"1.39.3": 1, "1.40.0": 1}))
    assert refusers() == ((("1.39.3", 1),), 6)
    # Where none of a replica's Envoys has it, all go without.
    wholly: dict[PartKey, Refusal | None] = {HOST: Refusal((APP,), "bad")}
    reports.take("two", ReportDelta(1, refusals=wholly, releases={"1.39.3": 1}))
    assert refusers() == ((("1.39.3", 2),), 7)
    reports.take("two", ReportDelta(2, releases={"1.39.3": 2}))
    assert refusers() == ((("1.39.3", 3),), 8)
    reports.connected(0)
    reports.take("one", ReportDelta(1, releases={"1.39.3": 1}))
    assert refusers() is None  # there is nobody else
    reports.drop("one")
    reports.drop("two")
    assert refusers() is None


def test_a_refusal_is_told_until_the_last_replica_takes_it_back() -> None:
    reports, _ = leader()
    for source, words in (("one", "first"), ("two", "second")):
        reports.take(source, ReportDelta(refusals={HOST: Refusal((APP, OTHER), words)}))
    assert told(reports) == told(reports, OTHER) == ("first", "second")
    reports.take("one", ReportDelta(refusals={HOST: None}))
    assert told(reports) == ("second",)
    reports.drop("two")
    assert told(reports) is None


def test_the_same_words_of_many_replicas_are_told_once() -> None:
    reports, _ = leader()
    for source in ("one", "two", "three"):
        reports.take(source, ReportDelta(refusals={HOST: Refusal((APP,), "bad")}))
    assert told(reports) == ("bad",)


def test_the_same_long_words_of_the_leader_and_a_follower_are_told_once() -> None:
    (leading, _), (following, _) = leader(), leader()
    here = ((APP.kind, APP.namespace, APP.name),)

    def tell(delta: ReportDelta) -> None:
        for message in encoding.messages("web", delta):
            found = encoding.read_delta(message, is_comparable=True)
            assert found is not None
            leading.take("follower", found[1])

    following.report_to(tell)
    for it in (following, leading):
        it.refused(RefusedPart(*HOST, here, "x" * (MOST_WORDS + 1), {}))
    assert told(leading) == ("x" * MOST_WORDS,)


def test_all_there_is_to_say_ends_what_it_does_not_mention() -> None:
    reports, _ = leader()
    reports.take("one", ReportDelta(3, refusals={HOST: Refusal((APP,), "bad")}))
    reports.take("one", ReportDelta(1, refusals={HOST: Refusal((OTHER,), "worse")}, is_whole=True))
    assert (envoys(reports), told(reports), told(reports, OTHER)) == (1, None, ("worse",))


def test_a_refusal_of_something_newer_waits_until_we_serve_that() -> None:
    reports, fleet = leader(world.route_head("web"), world.host("web", "a.test", "one"))
    newer = world.host("web", "a.test", "two")
    assert newer.value is not None
    refusal = Refusal((APP,), "bad", newer.value.digest.hex())
    reports.take("ahead", ReportDelta(refusals={HOST: refusal}))
    assert told(reports) is None
    fleet.publish([newer])
    assert told(reports) == ("bad",)
    fleet.publish([world.host("web", "a.test", "three")])
    assert told(reports) == ("bad",), "it holds until the replica takes it back"
    reports.take("ahead", ReportDelta(refusals={HOST: None}))
    assert told(reports) is None


@pytest.mark.parametrize("ends", [lambda it: it.drop("ahead"), lambda it: it.take("ahead", NONE)])
def test_a_refusal_that_never_came_to_hold_leaves_nothing_behind(ends: Any) -> None:
    reports, fleet = leader(world.route_head("web"))
    host = world.host("web", "a.test", "two")
    assert host.value is not None
    reports.take(
        "ahead", ReportDelta(refusals={HOST: Refusal((APP,), "bad", host.value.digest.hex())})
    )
    ends(reports)
    fleet.publish([host])
    assert told(reports) is None


@pytest.mark.parametrize(
    ("envoys", "state", "is_pending"),
    [
        (1, lambda ours: ListenerState(ours, is_pending=False), False),
        (1, lambda ours: ListenerState(ours, is_pending=True), True),
        (1, lambda _: ListenerState("another", is_pending=False), True),  # ahead, or behind
        (1, lambda _: ListenerState("", is_pending=False), False),  # of another build
        (1, lambda _: None, True),  # has not heard of it yet
        (0, lambda _: None, False),  # has nobody to tell
    ],
)
def test_a_listener_is_pending_until_every_replica_has_our_version_accepted(
    envoys: int, state: Any, is_pending: bool
) -> None:
    reports, fleet = leader(HTTP)
    reports.take("one", ReportDelta(envoys, {"http": state(version(fleet))}))
    assert pending(reports) == (("http",) if is_pending else None)


def test_a_listener_that_we_change_is_pending_at_once() -> None:
    reports, fleet = leader(HTTP)
    reports.take("one", ReportDelta(1, {"http": ListenerState(version(fleet), is_pending=False)}))
    assert pending(reports) is None
    fleet.publish([world.listener("http", 81, "web"), world.listener("https", 443, "web")])
    assert pending(reports) == ("http", "https")
    found = fleet.acceptance.version(Name(LISTENER, "https")) or ""
    reports.take(
        "one", ReportDelta(None, {"http": ListenerState(version(fleet), is_pending=False)})
    )
    reports.take("one", ReportDelta(None, {"https": ListenerState(found, is_pending=False)}))
    assert pending(reports) is None


def test_a_listener_that_is_gone_is_pending_nowhere() -> None:
    reports, fleet = leader(HTTP)
    reports.take("one", ReportDelta(1, {"http": ListenerState("old", is_pending=False)}))
    fleet.publish(world.gone(HTTP))
    assert pending(reports) is None


def test_what_is_refused_as_published_has_the_version_that_is_published() -> None:
    _, one = leader(world.route_head("web"), HTTP)
    _, other = leader(world.route_head("web"), HTTP)
    assert version(one) == version(other)
    other.publish([world.listener("http", 81, "web")])
    assert version(one) != version(other)


def test_what_grpc_applications_refuse_is_told_once_for_each_wording_and_side() -> None:
    reports = FleetReports(
        exports.FLEET, RefusedObjects(Engine(Plan())), lambda: None, lambda _: True,
        asked_by=outputs.asked_by(exports.FLEET),
    )  # fmt: skip
    for name in ("echo.a:1", "echo.a:2", "server/echo.a/0.0.0.0:1", "xdstp://x/t/server/echo.a/:1"):
        reports.refused(
            RefusedPart(Name(LISTENER, name), "", ((APP.kind, APP.namespace, APP.name),), "no TLS")
        )
    told = reports.engine.row(refusals.DECLINED, APP)
    assert told == (("gRPC clients", "no TLS"), ("gRPC servers", "no TLS"))


def test_an_object_of_several_fleets_has_what_each_of_them_refuses() -> None:
    engine = Engine(Plan())
    shared, here = RefusedObjects(engine), ((APP.kind, APP.namespace, APP.name),)
    web, own = (FleetReports(it, shared, lambda: None, lambda _: True) for it in ("web", "own"))
    for it, envoys in ((web, 2), (own, 1)):
        it.connected(envoys, {"1.40.0": envoys})
        it.refused(RefusedPart(*HOST, here, f"bad in {it.fleet}", {"1.40.0": 1}))
    assert told(web) == ("bad in own", "bad in web")
    assert engine.row(refusals.REFUSERS, APP) == ((("1.40.0", 2),), 3)
    own.recovered(*HOST)
    assert told(web) == ("bad in web",)
    assert engine.row(refusals.REFUSERS, APP) == ((("1.40.0", 1),), 2)
    web.recovered(*HOST)
    assert (told(web), engine.row(refusals.REFUSERS, APP)) == (None, None)
