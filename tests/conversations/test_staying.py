"""An Envoy that stays for weeks: nothing is left of what has gone."""

from contour.xds.resources import ENDPOINTS
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    opened,
    publish,
    settle,
    subscribe,
    unsubscribe,
    wait,
)

WEB = [world.route_head("web"), world.listener("http", 80, "web")]


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
