"""An Envoy that stays for weeks: nothing is left of what has gone, nor of streams that ended."""

from collections.abc import Mapping

from contour.xds.resources import CLUSTER, ENDPOINTS, ROUTE
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    opened,
    publish,
    settle,
    subscribe,
    unsubscribe,
    wait,
)

WEB = [world.route_head("web"), world.listener("http", 80, "web")]
A, B = world.site("a.test", "a", 1), world.site("b.test", "b", 2)


def test_clusters_that_come_and_go_leave_nothing_behind() -> None:
    talk = opened(Conversation(WEB))
    (envoy,) = talk.fleet.envoys
    for number in range(50):
        name = f"c{number}"
        site = world.site(f"{name}.test", name, 1)
        talk >> publish(site)
        settle(talk)
        talk >> subscribe(ENDPOINTS, name)
        settle(talk)
        talk >> publish(world.gone(*site))
        settle(talk)
        settle(talk >> wait(1))
        talk >> unsubscribe(ENDPOINTS, name) >> wait(1)
        settle(talk)
    assert not any(it.name.startswith("c") for it in envoy._removals._needed)
    assert not envoy.gates.closed


def _streams(talk: Conversation, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, DeltaClient]:
    """One Envoy with a stream for each type."""
    streams = {it: DeltaClient(talk.fleet, it) for it in wanted}
    for type_url, names in wanted.items():
        talk.client = streams[type_url]
        talk >> subscribe(type_url, *names)
        settle(talk)
    return streams


def test_a_stream_that_has_ended_gets_no_removal() -> None:
    talk = Conversation(A)
    streams = _streams(talk, {CLUSTER: (), ENDPOINTS: ("a",)})
    ended = streams[ENDPOINTS].stream
    talk.client = streams[CLUSTER]
    talk >> wait(10) >> publish(world.gone(*A))
    ended.close(talk.now)
    talk >> wait(5)
    settle(talk)
    assert not talk.client.has[CLUSTER]
    assert not ended.subscriptions[ENDPOINTS].dirty


def test_a_stream_that_has_ended_gets_nothing_that_was_held_back() -> None:
    talk = Conversation([*A, *WEB])
    wanted: dict[str, tuple[str, ...]] = {CLUSTER: (), ENDPOINTS: ("a", "b"), ROUTE: ("web",)}
    streams = _streams(talk, wanted)
    ended = streams[ROUTE].stream
    talk >> wait(10) >> publish(B)
    ended.close(talk.now)
    for it in (CLUSTER, ENDPOINTS):
        talk.client = streams[it]
        settle(talk)
    assert "b" in talk.client.has[ENDPOINTS]
    assert not ended.subscriptions[ROUTE].dirty
