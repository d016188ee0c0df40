"""An extension whose answers are refused, and that is mended while the connection stays."""

from typing import Any

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2 as pb

from tests.contour.extensioncalls import served, test_listeners, test_translation
from tests.contour.extensioncalls.served import WORLD, Manager, add_header
from tests.contour.extensioncalls.test_translation import configuration

MENDED = served.changing(add_header)


def _nobodys(host: pb.VirtualHost) -> None:
    host.routes[-1].route.cluster = "nobody"


def _elsewhere(listener: listener_pb2.Listener, _: Manager) -> None:
    listener.address.socket_address.port_value = 1


def _without_type(found: test_translation.Clusters) -> None:
    found["added"] = cluster_pb2.Cluster(name="added", type=cluster_pb2.Cluster.EDS)


async def test_a_host_whose_answer_is_refused_is_asked_about_again_and_gently() -> None:
    async with served.shaped(served.changing(_nobodys)) as of:
        (server,) = of.servers
        assert all(of.paths(it)[-1] == "500" for it in range(WORLD.hosts))
        asked = of.asked
        await of.until(lambda: of.asked >= asked + 3)
        assert of.asked < asked + WORLD.hosts, "one at a time"
        server.script = MENDED
        await of.until(lambda: all(of.is_changed(it) for it in range(WORLD.hosts)))


async def test_an_answer_that_is_refused_and_otherwise_each_time_is_told_and_asked_gently() -> None:
    number = 0

    def differently(host: pb.VirtualHost) -> None:
        nonlocal number
        number += 1
        host.routes[-1].route.cluster = f"nobody-{number}"

    async with served.shaped(served.changing(differently)) as of:
        before, asked = [of.host(it) for it in range(WORLD.hosts)], of.asked
        await of.until(lambda: "equal questions differently" in configuration(of))
        assert of.asked < asked + 2 * WORLD.hosts, "each of them twice"
        assert [of.host(it) for it in range(WORLD.hosts)] == before


async def test_a_listener_whose_answer_is_refused_is_asked_about_again() -> None:
    async with test_listeners.shaped(test_listeners.changing(_elsewhere)) as of:
        (server,) = of.servers
        assert of.listener(test_listeners.PLAIN) is None
        server.script = test_listeners.changing(test_listeners.add_filter)
        await of.until(lambda: of.listener(test_listeners.PLAIN) is not None)


async def test_clusters_of_which_something_is_refused_are_asked_about_again() -> None:
    more: dict[str, Any] = test_translation.ALONE
    async with test_translation.shaped(test_translation.changing(_without_type), **more) as of:
        (server,) = of.servers
        assert "of type EDS" in configuration(of)
        server.script = test_translation.changing(test_translation.add)
        await of.until(lambda: test_translation.ADDED in test_translation.clusters(of))
        assert "of type EDS" not in configuration(of)
