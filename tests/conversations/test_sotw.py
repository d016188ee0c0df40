"""The state-of-the-world dialect: everything listed, or what differs; absence is removal."""

import pytest

from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Change
from contour.xds.stream import Violation
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    SotwClient,
    ack,
    nothing,
    opened,
    pb,
    publish,
    push,
    reconnect,
    request,
    subscribe,
    unsubscribe,
    wait,
)

A = world.site("a.test", "a", 1)
B = world.site("b.test", "b", 2)
WEB = [world.route_head("web"), world.listener("http", 80, "web")]


def sotw(*published: list[Change]) -> Conversation:
    return Conversation(*published).speaking(SotwClient)


def test_an_envoy_that_starts_is_told_everything() -> None:
    talk = sotw([*A, *WEB])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a")
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS) >> ack(CLUSTER)
    talk >> subscribe(LISTENER) << push(LISTENER, "http") >> ack(LISTENER)
    talk >> subscribe(ROUTE, "web") << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    talk << nothing


def test_clusters_are_listed_whole_and_endpoints_as_they_change() -> None:
    talk = opened(sotw([*A, *B, *WEB]))
    talk >> publish(world.cluster("c")) << push(CLUSTER, "a", "b", "c") >> ack(CLUSTER)
    talk >> publish(world.endpoints("a", 5)) << push(ENDPOINTS, "a")


def test_a_removed_cluster_is_left_out_when_it_may_go() -> None:
    talk = opened(sotw([*A, *B, *WEB]))
    talk >> publish(world.gone(*B)) << push(ROUTE, "web", routes="a.test>a") << nothing
    talk >> publish(world.cluster("c")) << push(CLUSTER, "a", "b", "c") >> ack(CLUSTER)
    talk >> ack(ROUTE) >> wait(1) << push(CLUSTER, "a", "c")


def test_an_empty_list_after_names_means_nothing() -> None:
    talk = opened(sotw([*A, *WEB]))
    talk >> unsubscribe(ENDPOINTS, "a") << nothing
    talk >> publish(world.endpoints("a", 5)) << nothing


def test_a_first_request_is_answered_even_if_there_is_nothing() -> None:
    talk = sotw(A)
    talk >> subscribe(LISTENER) << push(LISTENER) << nothing


def test_names_that_do_not_exist_are_answered() -> None:
    talk = sotw(A)
    talk >> subscribe(ENDPOINTS, "ghost") << push(ENDPOINTS, "ghost")
    talk >> subscribe(SECRET, "ghost") << push(SECRET) >> subscribe(ROUTE, "x") << push(ROUTE)


def test_a_request_with_an_old_nonce_is_ignored() -> None:
    talk = opened(sotw([*A, *B, *WEB]))
    stale = pb.DiscoveryRequest(type_url=ENDPOINTS, response_nonce="0", resource_names=["a"])
    talk >> publish(world.endpoints("a", 5)) << push(ENDPOINTS, "a")
    talk >> request(stale) >> publish(world.endpoints("b", 6)) << nothing
    talk >> ack(ENDPOINTS) << push(ENDPOINTS, "b")


def test_a_name_that_is_added_is_sent_and_no_other() -> None:
    talk = sotw([*A, *B])
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b") >> ack(ENDPOINTS) << nothing


def test_a_name_that_is_added_to_everything_is_sent_again() -> None:
    talk = opened(sotw([*A, *WEB]))
    talk >> subscribe(LISTENER, "*", "http") << push(LISTENER, "http") >> ack(LISTENER) << nothing


def test_the_newest_answer_answers_all_responses_before_it() -> None:
    talk = opened(sotw([*A, *WEB]))
    talk >> publish(world.cluster("c")) << push(CLUSTER, "a", "c")
    talk >> publish(world.cluster("d")) << push(CLUSTER, "a", "c", "d")
    assert len(talk.client.stream.subscriptions[CLUSTER].in_flight) == 2
    talk >> ack(CLUSTER)
    assert not talk.client.stream.subscriptions[CLUSTER].in_flight


def test_after_a_reconnect_clusters_are_listed_whole_again() -> None:
    talk = opened(sotw([*A, *WEB]))
    talk >> reconnect(SotwClient) >> subscribe(CLUSTER) << push(CLUSTER, "a")
    talk >> subscribe(LISTENER) << push(LISTENER, "http")


def test_a_listener_of_unknown_contents_is_not_left_out_while_it_waits() -> None:
    held = world.listener_to_cluster("tcp", 90, "b")
    talk = sotw([*A, *B, *WEB, held])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a", "b")
    talk.client.versions[LISTENER] = "of an earlier control plane"
    talk >> subscribe(LISTENER) << nothing
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b")
    talk >> ack(ENDPOINTS) << push(LISTENER, "http", "tcp")


def test_a_new_listener_that_waits_is_left_out() -> None:
    held = world.listener_to_cluster("tcp", 90, "b")
    talk = opened(sotw([*A, *WEB]))
    talk >> publish(held, *B[:2]) << push(CLUSTER, "a", "b") << nothing
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b")
    talk >> ack(ENDPOINTS) << push(LISTENER, "http", "tcp")


def test_a_change_of_a_cluster_brings_its_endpoints_again() -> None:
    talk = opened(sotw([*A, *WEB]))
    talk >> publish(world.cluster("a", lb_policy="RANDOM"))
    talk << push(CLUSTER, "a") << push(ENDPOINTS, "a") << nothing


def test_garbage_ends_the_stream() -> None:
    with pytest.raises(Violation):
        sotw(A).request(b"\xff\xff garbage")
