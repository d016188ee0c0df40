"""The incremental dialect: who is told what, when, and what is never said twice."""

from collections import Counter
from typing import Any

import pytest

from contour.xds.envoy import Envoy
from contour.xds.events import Event
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Change
from contour.xds.stream import LONGEST_NODE, MOST_NAMES, Violation
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    ack,
    nothing,
    opened,
    pb,
    publish,
    push,
    reconnect,
    request,
    settle,
    subscribe,
    unsubscribe,
    wait,
)

A = world.site("a.test", "a", 1)
B = world.site("b.test", "b", 2)
WEB = [world.route_head("web"), world.listener("http", 80, "web")]
LONG = "x" * (LONGEST_NODE + 1)


def test_an_envoy_that_starts_is_told_everything_in_order() -> None:
    talk = Conversation([*A, *WEB])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a") << nothing
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") << nothing
    talk >> ack(ENDPOINTS) >> ack(CLUSTER) << nothing
    talk >> subscribe(LISTENER) << push(LISTENER, "http") << nothing
    talk >> subscribe(ROUTE, "web") << push(ROUTE, "web", routes="a.test>a")
    talk >> ack(LISTENER) >> ack(ROUTE) << nothing


def test_an_empty_first_request_is_a_wildcard_only_for_types_that_know_one() -> None:
    talk = Conversation([*A, *WEB])
    talk >> subscribe(ENDPOINTS) << nothing >> subscribe(ROUTE) << nothing
    talk >> subscribe(LISTENER) << push(LISTENER, "http")


def test_a_star_asks_for_everything() -> None:
    talk = Conversation([*A, *WEB])
    talk >> subscribe(CLUSTER, "*") << push(CLUSTER, "a") >> ack(CLUSTER)
    talk >> publish(world.cluster("b")) << push(CLUSTER, "b")
    talk >> ack(CLUSTER) >> unsubscribe(CLUSTER, "*") >> publish(world.cluster("c")) << nothing


def test_that_there_is_nothing_at_all_is_an_answer() -> None:
    talk = Conversation([])
    talk >> subscribe(CLUSTER) << push(CLUSTER) >> ack(CLUSTER) << nothing
    talk >> publish(world.cluster("a")) << push(CLUSTER, "a")


@pytest.mark.parametrize("type_url", [ENDPOINTS, SECRET, ROUTE, CLUSTER])
def test_a_name_that_does_not_exist_is_answered(type_url: str) -> None:
    talk = Conversation([*A, *WEB])
    talk >> subscribe(type_url, "ghost") << push(type_url, removed=["ghost"]) << nothing


def test_a_name_that_did_not_exist_is_told_when_it_comes() -> None:
    talk = Conversation([*A])
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, removed=["b"]) >> ack(ENDPOINTS)
    talk >> publish(B) << push(ENDPOINTS, "b")


def test_an_unanswered_response_holds_back_its_type_alone() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.endpoints("a", 2)) << push(ENDPOINTS, "a")
    talk >> publish(world.endpoints("a", 3)) << nothing
    talk >> publish(world.listener("https", 443, "web")) << push(LISTENER, "https")
    talk >> ack(ENDPOINTS) << push(ENDPOINTS, "a") << nothing


def test_clusters_do_not_wait_for_an_acknowledgement() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.cluster("b")) << push(CLUSTER, "b")
    talk >> publish(world.cluster("c")) << push(CLUSTER, "c")


def test_a_slow_reader_skips_versions() -> None:
    talk = opened(Conversation([*A, *WEB]))
    for port in range(2, 9):
        talk >> publish(world.endpoints("a", port))
    talk << push(ENDPOINTS, "a") >> ack(ENDPOINTS) << nothing
    newest = talk.fleet.store.types[ENDPOINTS]["a"].version()
    assert talk.client.has[ENDPOINTS]["a"] == newest


def test_an_unsubscription_needs_no_nonce_and_is_not_answered() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> unsubscribe(ENDPOINTS, "b") << nothing
    talk >> publish(world.endpoints("b", 9)) << nothing


def test_one_request_may_acknowledge_and_subscribe() -> None:
    talk = Conversation([*A, *B])
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a")
    both = pb.DeltaDiscoveryRequest(
        type_url=ENDPOINTS,
        response_nonce=talk.client.nonces[ENDPOINTS],
        resource_names_subscribe=["b"],
    )
    talk >> request(both) << push(ENDPOINTS, "b")


def test_what_is_subscribed_again_is_sent_again() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS) << nothing


def test_who_has_everything_is_sent_again_what_it_asks_for_by_name() -> None:
    talk = opened(Conversation([*A, *WEB]))
    for _ in range(2):
        talk >> subscribe(LISTENER, "http") << push(LISTENER, "http") >> ack(LISTENER) << nothing
        talk >> unsubscribe(LISTENER, "http") << nothing


def test_what_a_client_says_that_it_has_is_not_sent_again_by_name() -> None:
    talk = opened(Conversation([*A, *WEB]))
    has = talk.client.has[CLUSTER]
    talk >> reconnect(DeltaClient)
    talk.request(talk.client.subscribe(CLUSTER, ["*", "a"], **has))
    talk << nothing


def test_a_stale_or_invented_nonce_acknowledges_nothing() -> None:
    talk = opened(Conversation([*A, *WEB]))
    stale = pb.DeltaDiscoveryRequest(
        type_url=ENDPOINTS, response_nonce=talk.client.nonces[ENDPOINTS]
    )
    invented = pb.DeltaDiscoveryRequest(type_url=ENDPOINTS, response_nonce="no such")
    talk >> publish(world.endpoints("a", 2)) << push(ENDPOINTS, "a")
    talk >> request(stale) >> request(invented) >> publish(world.endpoints("a", 3)) << nothing
    talk >> ack(ENDPOINTS) << push(ENDPOINTS, "a")


def test_a_client_that_has_the_newest_is_sent_nothing() -> None:
    talk = opened(Conversation([*A, *WEB]))
    has = talk.client.has
    talk >> reconnect(DeltaClient)
    for type_url in (CLUSTER, LISTENER):
        talk.request(talk.client.subscribe(type_url, (), **has[type_url]))
    for type_url in (ENDPOINTS, ROUTE):
        talk.request(talk.client.subscribe(type_url, has[type_url], **has[type_url]))
    talk << nothing
    talk >> publish(B) << push(CLUSTER, "b") << nothing


def test_what_vanished_while_a_client_was_away_leaves_after_what_replaced_it() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    has = talk.client.has
    gone = [*world.gone(*B), *world.gone(world.listener("old", 81, "web"))]
    talk >> reconnect(DeltaClient) >> publish(gone, world.host("web", "b.test", "a"))
    talk.request(talk.client.subscribe(CLUSTER, (), **has[CLUSTER]))
    talk.request(talk.client.subscribe(LISTENER, (), **has[LISTENER], old="1"))
    talk << push(LISTENER, removed=["old"]) >> ack(LISTENER)
    talk.request(talk.client.subscribe(ENDPOINTS, has[ENDPOINTS], **has[ENDPOINTS]))
    talk.request(talk.client.subscribe(ROUTE, ["web"], **has[ROUTE]))
    talk << push(ROUTE, "web", routes="a.test>a b.test>a") << nothing
    talk >> wait(60) >> ack(ROUTE) << nothing
    talk >> wait(60) << push(CLUSTER, removed=["b"]) << push(ENDPOINTS, "b") << nothing


def test_endpoints_that_are_gone_are_sent_as_none_at_all() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.cluster("free", lb_policy="RANDOM"), world.endpoints("free", 1))
    settle(talk)
    talk >> subscribe(ENDPOINTS, "lonely") << push(ENDPOINTS, removed=["lonely"]) >> ack(ENDPOINTS)
    talk >> publish(world.endpoints("lonely", 1)) << push(ENDPOINTS, "lonely") >> ack(ENDPOINTS)
    talk >> publish(world.gone(world.endpoints("lonely"))) << nothing
    talk >> wait(1) << push(ENDPOINTS, "lonely") << nothing


def test_a_change_of_a_cluster_brings_its_endpoints_again() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.cluster("a", lb_policy="RANDOM"))
    talk << push(CLUSTER, "a") << push(ENDPOINTS, "a") << nothing


@pytest.mark.parametrize(
    "message",
    [
        pb.DeltaDiscoveryRequest(),
        pb.DeltaDiscoveryRequest(type_url="x" * 1000),
    ],
)
def test_a_request_without_a_proper_type_ends_the_stream(message: Any) -> None:
    with pytest.raises(Violation):
        Conversation(A) >> request(message)


def test_garbage_ends_the_stream() -> None:
    talk = Conversation(A)
    with pytest.raises(Violation):
        talk.request(b"\xff\xff garbage")


def test_a_node_that_changes_ends_the_stream() -> None:
    other = pb.DeltaDiscoveryRequest(type_url=CLUSTER, node={"id": "two"})
    with pytest.raises(Violation, match="node changed"):
        Conversation(A) >> subscribe(CLUSTER) >> request(other)


@pytest.mark.parametrize("node", [{"id": LONG}, {"cluster": LONG}, {"locality": {"zone": LONG}}])
def test_a_node_that_describes_itself_at_length_ends_the_stream(node: dict[str, Any]) -> None:
    with pytest.raises(Violation, match="1024 characters"):
        Conversation(A) >> request(pb.DeltaDiscoveryRequest(type_url=CLUSTER, node=node))


def test_too_many_types_end_the_stream() -> None:
    talk = Conversation(A)
    for number in range(16):
        talk >> subscribe(f"type/{number}")
    with pytest.raises(Violation, match="types"):
        talk >> subscribe("one more")


def test_too_many_names_end_the_stream() -> None:
    talk = Conversation(A)
    with pytest.raises(Violation, match="subscriptions"):
        talk >> subscribe(ENDPOINTS, *(f"n{it}" for it in range(300_000)))


@pytest.mark.parametrize("published", [A, []])
def test_too_much_that_a_client_has_or_gives_up_ends_the_stream(published: list[Change]) -> None:
    many = [f"n{it}" for it in range(MOST_NAMES + 1 + len(published))]
    with pytest.raises(Violation, match="subscriptions"):
        Conversation(published) >> unsubscribe(ENDPOINTS, *many)
    had = pb.DeltaDiscoveryRequest(
        type_url=ENDPOINTS, initial_resource_versions=dict.fromkeys(many, "1")
    )
    with pytest.raises(Violation, match="subscriptions"):
        Conversation(published) >> request(had)


def test_who_gives_up_everything_many_times_costs_as_much_as_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    steps, step = Counter[str](), talk.fleet.step

    def counted(envoy: Envoy, event: Event, now: float) -> None:
        steps[type(event).__name__] += 1
        step(envoy, event, now)

    monkeypatch.setattr(talk.fleet, "step", counted)
    talk >> unsubscribe(CLUSTER, *["*"] * 100) >> unsubscribe(CLUSTER, "*") << nothing
    assert steps["Unsubscribed"] == 2


def test_who_gives_up_everything_is_not_told_of_what_is_gone() -> None:
    talk = Conversation([*A, *WEB])
    talk.request(talk.client.subscribe(LISTENER, ["*"], ghost="1"))
    talk >> unsubscribe(LISTENER, "*") << nothing


def test_a_hundred_thousand_names_are_answered_and_forgotten_with_the_stream() -> None:
    talk = Conversation(A)
    names = [f"n{it}" for it in range(100_000)]
    talk >> subscribe(ENDPOINTS, *names) << push(ENDPOINTS, removed=names)
    talk.client.stream.close(talk.now)
    assert not talk.fleet.envoys
    assert not list(talk.fleet.interest.of(world.endpoints("n1").name))


def test_an_unknown_type_is_answered_and_does_no_harm() -> None:
    talk = Conversation(A)
    talk >> subscribe("type.googleapis.com/made.up.Type", "x")
    talk << push("type.googleapis.com/made.up.Type", removed=["x"])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a")
