"""What an Envoy is sent, accepts and refuses is counted as it happens."""

from collections.abc import Mapping

import pytest

from contour.metrics.fleets import Fleets
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE
from dag.fleets import Fleet
from tests.contour.metrics import scraped
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    ack,
    nack,
    nothing,
    publish,
    push,
    subscribe,
    wait,
)

WANTED = {"web": Fleet(gateway=None)}
BASE = [world.route_head("web"), world.listener("http", 80, "web")]


def read(talk: Conversation, name: str, wanted: Mapping[str, Fleet] = WANTED) -> scraped.Values:
    return scraped.values(Fleets({"web": talk.fleet}, wanted), f"contour_xds_{name}")


def test_what_is_served_and_to_how_many() -> None:
    talk = Conversation(BASE, world.site("a.test", "one", 1))
    assert read(talk, "envoys") == {("web",): 0}
    assert read(talk, "resources") == {
        ("web", "clusters"): 1,
        ("web", "endpoints"): 1,
        ("web", "listeners"): 1,
        ("web", "routes"): 1,
    }
    talk >> subscribe(CLUSTER) << push(CLUSTER, "one")
    assert read(talk, "envoys") == {("web",): 1}
    assert read(talk, "responses_total") == {("web", "clusters"): 1}


@pytest.mark.parametrize("wanted", [{}, {"web": Fleet(gateway=None, is_due=False)}])
def test_a_fleet_that_is_to_have_no_envoy_is_not_counted_without_one(
    wanted: Mapping[str, Fleet],
) -> None:
    talk = Conversation(BASE)
    assert read(talk, "envoys", wanted) == {}
    talk >> subscribe(CLUSTER) << push(CLUSTER)
    assert read(talk, "envoys", wanted) == {("web",): 1}


def test_a_refusal_is_counted_and_stays_visible_until_it_is_over() -> None:
    talk = Conversation(BASE) >> subscribe(LISTENER) << push(LISTENER, "http")
    talk >> ack(LISTENER) << nothing
    assert read(talk, "acks_total") == {("web", "listeners"): 1}
    talk >> publish(world.listener("http", 81, "web")) << push(LISTENER, "http")
    talk >> nack(LISTENER, "port in use")
    talk.client.stream.response(talk.now)
    assert read(talk, "nacks_total") == {("web", "listeners"): 1}
    assert read(talk, "quarantines_total") == {("web", "listeners"): 1}
    assert read(talk, "quarantined_parts") == {("web", "listeners"): 1}
    talk >> publish(world.listener("http", 82, "web"))
    assert read(talk, "quarantined_parts") == {}


def test_how_long_parts_wait_for_what_they_need_is_measured() -> None:
    talk = Conversation(BASE) >> subscribe(CLUSTER) << push(CLUSTER)
    talk >> ack(CLUSTER) >> subscribe(ROUTE, "web") << push(ROUTE, "web") >> ack(ROUTE)
    talk >> publish(world.site("a.test", "one", 1)) << push(CLUSTER, "one")
    assert read(talk, "waiting_parts") == {("web",): 1}
    talk >> wait(2) >> subscribe(ENDPOINTS, "one") << push(ENDPOINTS, "one") >> ack(ENDPOINTS)
    talk << push(ROUTE, "web", routes="a.test>one")
    assert read(talk, "waiting_parts") == {("web",): 0}
    assert read(talk, "part_waits_total") == {("web",): 1}
    assert read(talk, "part_wait_seconds_total") == {("web",): 2}
    assert read(talk, "part_wait_timeouts_total") == {("web",): 0}


def test_what_is_given_up_is_counted() -> None:
    talk = Conversation(BASE) >> subscribe(CLUSTER) << push(CLUSTER)
    talk >> ack(CLUSTER) >> subscribe(ROUTE, "web") << push(ROUTE, "web") >> ack(ROUTE)
    talk >> publish(world.site("a.test", "one", 1)) << push(CLUSTER, "one")
    talk >> wait(60) << push(ROUTE, "web", routes="a.test>one")
    assert read(talk, "part_wait_timeouts_total") == {("web",): 1}
    assert read(talk, "part_waits_total") == {("web",): 0}


def test_types_that_clients_invent_are_one_series() -> None:
    talk = Conversation(BASE)
    for number in range(3):
        talk.fleet.counts["sent", f"type.googleapis.com/invented.{number}"] += 1
    assert read(talk, "responses_total") == {("web", "other"): 3}


def test_a_counter_is_there_before_it_has_counted_anything() -> None:
    talk = Conversation(BASE) >> subscribe(LISTENER) << push(LISTENER, "http")
    for name in ("acks", "nacks", "quarantines"):
        assert read(talk, f"{name}_total") == {("web", "listeners"): 0}
