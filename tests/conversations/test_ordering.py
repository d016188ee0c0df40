"""Make before break: no part before what it needs, no removal before what replaces it is in use."""

import pytest

from contour.xds import resources
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, Change
from tests.contour.xds import world
from tests.conversations.playbook import (
    Client,
    Conversation,
    DeltaClient,
    Push,
    SotwClient,
    ack,
    nothing,
    opened,
    publish,
    push,
    settle,
    subscribe,
    unsubscribe,
    wait,
)

A = world.site("a.test", "a", 1)
B = world.site("b.test", "b", 2)
WEB = [world.route_head("web"), world.listener("http", 80, "web")]


def test_a_route_waits_for_the_endpoints_of_its_cluster() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B) << push(CLUSTER, "b") << nothing
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b") << nothing
    talk >> ack(ENDPOINTS) << push(ROUTE, "web", routes="a.test>a b.test>b") << nothing


def test_the_acknowledgement_of_a_cluster_without_endpoints_is_proof() -> None:
    bare = Change(world.cluster("b").name, "", resources.part(b"\n\x01b"))
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(bare, world.host("web", "b.test", "b")) << push(CLUSTER, "b") << nothing
    talk >> ack(CLUSTER) << push(ROUTE, "web", routes="a.test>a b.test>b")


def test_the_acknowledgement_of_a_cluster_does_not_stand_for_its_endpoints() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B) << push(CLUSTER, "b") >> ack(CLUSTER) << nothing


def test_a_host_that_waits_holds_back_no_other() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B, world.cluster("c"), world.host("web", "c.test", "a"))
    talk << push(CLUSTER, "b", "c") << push(ROUTE, "web", routes="a.test>a c.test>a")


def test_a_host_that_changes_is_served_as_it_was_until_its_cluster_is_ready() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.site("a.test", "new", 3), world.host("web", "z.test", "a"))
    talk << push(CLUSTER, "new") << push(ROUTE, "web", routes="a.test>a z.test>a")
    talk >> ack(ROUTE) >> subscribe(ENDPOINTS, "new") << push(ENDPOINTS, "new") >> ack(ENDPOINTS)
    talk << push(ROUTE, "web", routes="a.test>new z.test>a")


def test_a_host_that_changes_back_while_it_waits_is_not_sent() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.site("a.test", "new", 3)) << push(CLUSTER, "new")
    talk >> publish(A) >> subscribe(ENDPOINTS, "new") << push(ENDPOINTS, "new")
    talk >> ack(ENDPOINTS) << nothing


def test_a_cluster_that_never_warms_delays_its_own_host_for_a_time() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B) << push(CLUSTER, "b") << nothing >> wait(4.9) << nothing
    talk >> publish(world.host("web", "c.test", "a"))
    talk << push(ROUTE, "web", routes="a.test>a c.test>a") >> ack(ROUTE)
    talk >> wait(0.2) << push(ROUTE, "web", routes="a.test>a b.test>b c.test>a") >> ack(ROUTE)
    talk >> publish(world.host("web", "d.test", "b"))
    talk << push(ROUTE, "web", routes="a.test>a b.test>b c.test>a d.test>b")


def test_a_cluster_that_was_not_sent_is_not_given_up() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B) >> wait(60) << push(CLUSTER, "b") << nothing


def test_a_cluster_that_does_not_warm_is_ready_when_it_is_sent() -> None:
    cluster, endpoints, host = B
    dns = Change(cluster.name, "", world.without_warming(cluster.value))
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(dns, endpoints, host)
    talk << push(CLUSTER, "b") << push(ROUTE, "web", routes="a.test>a b.test>b")


def test_a_cluster_with_health_checks_is_ready_when_it_is_acknowledged_itself() -> None:
    cluster, endpoints, host = B
    checked = Change(cluster.name, "", world.with_health_checks(cluster.value))
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(checked, endpoints, host) << push(CLUSTER, "b")
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b") >> ack(ENDPOINTS) << nothing
    talk >> ack(CLUSTER) << push(ROUTE, "web", routes="a.test>a b.test>b")


def test_a_part_whose_need_does_not_exist_waits_for_it_once() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.host("web", "x.test", "ghost")) << nothing
    talk >> wait(5) << push(ROUTE, "web", routes="a.test>a x.test>ghost") >> ack(ROUTE)
    talk >> publish(world.host("web", "y.test", "ghost"))
    talk << push(ROUTE, "web", routes="a.test>a x.test>ghost y.test>ghost")


def test_endpoints_wait_for_nothing() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B) << push(CLUSTER, "b")
    talk >> publish(world.endpoints("a", 7)) << push(ENDPOINTS, "a")


def test_a_cluster_is_removed_after_its_last_route_is_gone_and_a_grace_period() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> publish(world.gone(*B)) << push(ROUTE, "web", routes="a.test>a") << nothing
    talk >> wait(60) << nothing
    talk >> ack(ROUTE) >> wait(0.9) << nothing
    talk >> wait(0.2) << push(CLUSTER, removed=["b"]) << push(ENDPOINTS, "b") << nothing


def test_a_swap_adds_first_and_removes_last() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.site("a.test", "new", 3), world.gone(*A[:2]))
    talk << push(CLUSTER, "new") << nothing
    talk >> subscribe(ENDPOINTS, "new") << push(ENDPOINTS, "new") >> ack(ENDPOINTS)
    talk << push(ROUTE, "web", routes="a.test>new") << nothing >> wait(60) << nothing
    talk >> ack(ROUTE) << nothing >> wait(1) << push(CLUSTER, removed=["a"])
    talk >> unsubscribe(ENDPOINTS, "a") << nothing


def test_a_cluster_that_comes_back_in_its_grace_period_just_stays() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> publish(world.gone(*B)) << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    talk >> publish(B) << push(ROUTE, "web", routes="a.test>a b.test>b") >> ack(ROUTE)
    talk >> wait(60) << nothing


def test_a_cluster_that_comes_back_different_is_sent_as_a_change() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> publish(world.gone(*B)) << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    talk >> publish(B, world.cluster("b", lb_policy="RANDOM"))
    talk << push(CLUSTER, "b") << push(ENDPOINTS, "b")
    talk << push(ROUTE, "web", routes="a.test>a b.test>b") >> wait(60) << nothing


def test_a_cluster_that_comes_back_waits_for_endpoints_that_are_not_sent_yet() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(B[:2]) << push(CLUSTER, "b") >> subscribe(ENDPOINTS, "b")
    talk >> publish(world.gone(*B[:2])) << push(ENDPOINTS, removed=["b"])
    talk >> publish(B[:2]) >> publish(world.gone(*B[:2])) >> publish(B) << nothing
    talk >> ack(ENDPOINTS) << push(ENDPOINTS, "b") << nothing
    talk >> ack(ENDPOINTS) << push(ROUTE, "web", routes="a.test>a b.test>b")


def test_a_cluster_stays_as_long_as_a_host_that_waits_is_served_from_it() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.site("a.test", "new", 3), world.gone(*A[:2])) << push(CLUSTER, "new")
    talk >> publish(world.host("web", "z.test", "new"), world.route_head("web")) << nothing
    talk >> wait(4) << nothing >> wait(1) << push(ROUTE, "web", routes="a.test>new z.test>new")
    talk >> ack(ROUTE) >> wait(1) << push(CLUSTER, removed=["a"])


def test_a_cluster_that_is_still_needed_outlives_its_removal() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.gone(*A[:2])) >> wait(60) << nothing
    talk >> publish(world.gone(A[2])) << push(ROUTE, "web") >> ack(ROUTE)
    talk >> wait(1) << push(CLUSTER, removed=["a"])


def test_routes_churning_all_the_time_do_not_keep_a_cluster_for_ever() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> publish(world.gone(*B)) << push(ROUTE, "web", routes="a.test>a")
    for fqdn in ("a.test", "b.test", "a.test", "b.test"):
        talk >> publish(world.host("web", "c.test", "a", [fqdn + ".local"])) >> ack(ROUTE)
        talk << push(ROUTE, "web", routes="a.test>a c.test>a")
    talk >> wait(1) << push(CLUSTER, removed=["b"])


def test_a_cluster_itself_waits_for_nothing() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.cluster("alone")) << push(CLUSTER, "alone")
    talk >> publish(world.cluster("alone", lb_policy="RANDOM")) << push(CLUSTER, "alone")


def test_a_listener_is_removed_at_once() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.gone(WEB[1])) << push(LISTENER, removed=["http"])


def test_a_client_that_names_its_clusters_orders_its_changes_itself() -> None:
    talk = Conversation([*A, *WEB])
    talk >> subscribe(CLUSTER, "a") << push(CLUSTER, "a") >> ack(CLUSTER)
    talk >> subscribe(ROUTE, "web") << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    talk >> publish(B) << push(ROUTE, "web", routes="a.test>a b.test>b")


def test_an_envoy_with_a_route_of_unknown_contents_keeps_it_whole_until_all_is_ready() -> None:
    talk = Conversation([*A, *B, *WEB])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a", "b")
    talk.request(talk.client.subscribe(ROUTE, ["web"], web="of an earlier control plane"))
    talk << nothing >> publish(world.host("web", "c.test", "a")) << nothing
    talk >> subscribe(ENDPOINTS, "a", "b") << push(ENDPOINTS, "a", "b")
    talk >> ack(ENDPOINTS) << push(ROUTE, "web", routes="a.test>a b.test>b c.test>a")


def test_an_envoy_that_lacks_one_host_is_recognised_by_the_version_it_has() -> None:
    earlier = opened(Conversation([*A, *WEB]))
    talk = Conversation([*A, *B, *WEB])
    talk.request(talk.client.subscribe(CLUSTER, (), **earlier.client.has[CLUSTER]))
    talk << push(CLUSTER, "b")
    talk.request(talk.client.subscribe(ENDPOINTS, ["a"], **earlier.client.has[ENDPOINTS]))
    talk.request(talk.client.subscribe(ROUTE, ["web"], **earlier.client.has[ROUTE]))
    talk >> publish(world.host("web", "c.test", "a"))
    talk << push(ROUTE, "web", routes="a.test>a c.test>a")


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_one_stream_per_type_is_ordered_as_well(
    dialect: type[DeltaClient] | type[SotwClient],
) -> None:
    fleet = Fleet("web", Patience(), clock=lambda: 0.0)
    fleet.publish([*A, *WEB])
    clients: dict[str, Client] = {
        it: dialect(fleet, it) for it in (CLUSTER, ENDPOINTS, LISTENER, ROUTE)
    }

    def said(type_url: str) -> Push | None:
        response = clients[type_url].stream.response(0.0)
        return None if response is None else clients[type_url].take(response)

    def ask(type_url: str, *names: str) -> None:
        clients[type_url].stream.receive(clients[type_url].subscribe(type_url, names), 0.0)

    def answer(type_url: str) -> None:
        clients[type_url].stream.receive(clients[type_url].answer(type_url, ""), 0.0)

    for type_url, names in {CLUSTER: [], ENDPOINTS: ["a"], LISTENER: [], ROUTE: ["web"]}.items():
        ask(type_url, *names)
        assert said(type_url) is not None
        answer(type_url)
    fleet.publish(B)
    assert said(ROUTE) is None
    added = said(CLUSTER)
    assert added is not None
    assert "b" in added.names
    ask(ENDPOINTS, "b")
    assert said(ENDPOINTS) == push(ENDPOINTS, "b")
    assert said(ROUTE) is None
    answer(ENDPOINTS)
    assert said(ROUTE) == push(ROUTE, "web", routes="a.test>a b.test>b")
    assert len(fleet.envoys) == 1


def test_everything_settles_when_much_changes_at_once() -> None:
    talk = opened(Conversation([*A, *WEB]))
    many = [it for n in range(50) for it in world.site(f"h{n}.test", f"c{n}", n + 1)]
    talk >> publish(many)
    settle(talk)
    talk >> subscribe(ENDPOINTS, *(f"c{n}" for n in range(50)))
    settle(talk)
    talk >> publish(world.gone(*many))
    settle(talk)
    talk >> wait(1)
    settle(talk)
    assert set(talk.client.has[CLUSTER]) == {"a"}
