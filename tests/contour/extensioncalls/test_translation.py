"""Clusters that an extension adds and changes (the hook Translation): what is asked and served, and
what waits for the answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.route.v3 import route_components_pb2

from contour.hooks import wire
from contour.hooks.wire import Hook
from contour.xds import resources
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls import served
from tests.contour.extensioncalls.served import Shaped, extension, instance, running
from tests.testbed import world
from tests.testbed.extensionserver import echoed, never, scripted, unchanged
from tests.testbed.world import Document, World

ADDED = "authorization.example"
SMALL = World.of(5)
ALONE: dict[str, Any] = {"hooks": {"post": ["Translation"]}}
BOTH: dict[str, Any] = {"hooks": {"post": ["VirtualHost", "Translation"]}}
Clusters = dict[str, pb.Cluster]


def asked_clusters(body: bytes) -> Clusters:
    found = wire.decoded_request("Translation", body).resources["clusters"]
    every = (pb.Cluster.FromString(it) for it in found)
    return {it.name: it for it in every}


def changing(
    change: Callable[[Clusters], None], host: Callable[..., None] = served.add_header
) -> Any:
    """A script that changes all clusters, and each host."""

    async def script(hook: Hook, body: bytes) -> bytes:
        if hook == "VirtualHost":
            return bytes(await served.changing(host)(hook, body))
        clusters = asked_clusters(body)
        change(clusters)
        encoded = tuple(it.SerializeToString(deterministic=True) for it in clusters.values())
        return wire.encoded_reply("Translation", {"clusters": encoded})

    return script


def add(clusters: Clusters) -> None:
    clusters[ADDED] = pb.Cluster(name=ADDED, type=pb.Cluster.STRICT_DNS)
    clusters[ADDED].load_assignment.cluster_name = ADDED


def slow(clusters: Clusters) -> None:
    """Changes every cluster."""
    for it in clusters.values():
        it.connect_timeout.seconds = 9


def lead_to_added(host: route_components_pb2.VirtualHost) -> None:
    for it in host.routes:
        it.route.cluster = ADDED


async def _broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


def clusters(of: Shaped) -> Clusters:
    """The clusters that are served."""
    store = of.instance.server.fleet(DEFAULT_FLEET).store.types
    found = store.get(resources.CLUSTER, {}).values()
    return {it.name.name: pb.Cluster.FromString(it.body()) for it in found}


def told(of: Shaped, number: int = 0) -> str:
    return of.told("HTTPProxy", world.namespace(number), f"root-{number}")


def configuration(of: Shaped) -> str:
    return of.told("ContourConfiguration", "projectcontour", "contour")


def shaped(script: Any, **more: Any) -> Any:
    return served.shaped(script, documents=SMALL.documents(), **more)


async def test_a_cluster_is_added_and_the_others_stay_as_they_are() -> None:
    async with shaped(echoed, **ALONE) as of:
        before = clusters(of)
    async with shaped(changing(add), **ALONE) as of:
        found = clusters(of)
        assert found.pop(ADDED).wait_for_warm_on_init.value is False
        assert before
        assert found == before
        assert of.paths(0) == ["/api/v1", "/api/", "/"]
        assert not told(of)


async def test_clusters_are_served_as_they_were_changed() -> None:
    async with shaped(changing(slow), **ALONE) as of:
        assert {it.connect_timeout.seconds for it in clusters(of).values()} == {9}


async def test_a_host_may_lead_to_a_cluster_that_was_added_and_needs_it() -> None:
    async with shaped(changing(add, lead_to_added), **BOTH) as of:
        assert {it.route.cluster for host in of.parts(world.fqdn(0)) for it in host.routes} == {
            ADDED
        }
        assert not told(of)
        store = of.instance.server.fleet(DEFAULT_FLEET).store.types[resources.ROUTE]
        parts = [it.parts[world.fqdn(0)] for it in store.values() if world.fqdn(0) in it.parts]
        assert all(resources.Name(resources.CLUSTER, ADDED) in it.needs for it in parts)


async def test_a_cluster_that_no_extension_adds_closes_the_routes_to_it() -> None:
    async with shaped(changing(lambda _: None, lead_to_added), **BOTH) as of:
        assert of.paths(0) == ["500", "500", "500"]
        assert f"names the cluster '{ADDED}'" in told(of)


async def test_an_edit_of_a_host_alone_serves_it_at_once_and_asks_about_clusters_again() -> None:
    async with shaped(changing(add), **BOTH) as of:
        (server,) = of.servers
        before = server.asked["Translation"]
        of.take(SMALL.root(3, "/new"))
        await of.until(lambda: "/new" in of.paths(3))
        await of.until(lambda: server.asked["Translation"] == before + 1)


async def test_an_edit_without_a_new_cluster_asks_nothing_where_clusters_alone_are_asked() -> None:
    async with shaped(changing(add), **ALONE) as of:
        (server,) = of.servers
        before = server.asked["Translation"]
        of.take(SMALL.root(3, "/new"))
        assert "/new" in of.paths(3)
        assert server.asked["Translation"] == before


@pytest.mark.parametrize("script", [_broken, never, unchanged])
async def test_hosts_whose_clusters_were_never_answered_for_are_closed_and_told(
    script: Any,
) -> None:
    """An empty answer would remove all clusters."""
    async with shaped(script, **ALONE, timeout="100ms", retries=0) as of:
        assert of.paths(0) == ["503"]
        assert not clusters(of)
        assert "extension shaper " in told(of)
        assert "until then the host answers 503" in told(of)
        of.servers[0].script = changing(add)
        await of.servers[0].stop()
        await of.servers[0].start()
        await of.until(lambda: of.paths(0) == ["/api/v1", "/api/", "/"])
        await of.until(lambda: not told(of))


async def test_fail_open_serves_clusters_as_they_are() -> None:
    async with shaped(_broken, **ALONE, failOpen=True) as of:
        assert of.paths(0) == ["/api/v1", "/api/", "/"]
        assert clusters(of)


def elsewhere(number: int) -> Document:
    """The host with another cluster for one of its routes."""
    found = SMALL.root(number)
    found["spec"]["routes"][0]["loadBalancerPolicy"] = {"strategy": "Random"}
    return found


def leads_randomly(of: Shaped, number: int) -> bool:
    """Whether that is served."""
    names = {it.route.cluster for it in next(of.parts(world.fqdn(number))).routes}
    found = clusters(of)
    return any(it in found and found[it].lb_policy == pb.Cluster.RANDOM for it in names)


async def test_a_new_cluster_waits_for_the_answer_and_its_host_stays_as_it_was() -> None:
    async with shaped(changing(slow), **ALONE) as of:
        before = of.host(3), clusters(of)
        of.servers[0].script = _broken
        of.take(elsewhere(3), SMALL.root(4, "/new"))
        assert "/new" in of.paths(4), "others do not wait"
        await of.until(lambda: "stays as it was last served" in told(of, 3))
        assert (of.host(3), clusters(of)) == before
        of.servers[0].script = changing(slow)
        of.take(elsewhere(2))
        await of.until(lambda: leads_randomly(of, 3) and leads_randomly(of, 2))
        await of.until(lambda: not told(of, 3))
        assert {it.connect_timeout.seconds for it in clusters(of).values()} == {9}


async def test_an_edit_that_leads_to_what_is_not_added_yet_leaves_what_was_served() -> None:
    def lead(host: route_components_pb2.VirtualHost) -> None:
        host.routes[0].route.cluster = "second.example"

    async def without_clusters(hook: Hook, body: bytes) -> Any:
        return await (_broken if hook == "Translation" else changing(add, lead))(hook, body)

    async with shaped(changing(add), **BOTH) as of:
        (server,) = of.servers
        before = of.host(3)
        server.script = without_clusters
        of.take(SMALL.root(3, "/new"))
        await of.until(lambda: "stays as it was last served" in told(of, 3))
        assert of.host(3) == before
        server.script = changing(add, lead_to_added)
        of.take(SMALL.root(3, "/newer"))
        await of.until(lambda: "/newer" in of.paths(3))
        await of.until(lambda: not told(of, 3))


async def test_what_an_extension_must_not_answer_is_told_and_leaves_the_cluster_empty() -> None:
    def wrong(found: Clusters) -> None:
        for it in found.values():
            it.eds_cluster_config.service_name = "somebody/else"
        name = "a/b/80/0123456789"
        found[name] = pb.Cluster(name=name)
        found[ADDED] = pb.Cluster(name=ADDED, type=pb.Cluster.EDS)

    async with shaped(changing(wrong), **ALONE) as of:
        found = clusters(of)
        assert found
        assert all(it == pb.Cluster(name=it.name) for it in found.values())
        assert "whose name is one of Contour's own" in configuration(of)
        why = f"adds the cluster '{ADDED}' of type EDS, whose endpoints nobody has"
        assert why in configuration(of)


@pytest.mark.parametrize("may", [False, True])
async def test_clusters_may_be_left_out_only_if_that_is_said(*, may: bool) -> None:
    async with shaped(echoed, **ALONE, mayRemoveClusters=may) as of:
        before = clusters(of)
        (server,) = of.servers
        server.script = unchanged  # of this hook an empty answer is that there are no clusters
        await server.stop()
        await server.start()
        if may:
            await of.until(lambda: all(it.ByteSize() < 60 for it in clusters(of).values()))
            assert clusters(of).keys() == before.keys()
            assert of.paths(0) == ["/api/v1", "/api/", "/"], "Envoy answers 503"
        else:
            await of.until(lambda: "leaves out the cluster" in configuration(of))
            assert clusters(of) == before


async def test_after_a_restart_old_answers_serve_while_the_server_is_away(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    script = changing(add, lead_to_added)
    async with shaped(script, **BOTH, answers=answers) as of:
        (server,) = of.servers
        before = clusters(of), of.host(0)
        entry = extension(server, **BOTH)
    made = instance(entry, answers=answers)
    async with running(made, server) as of:
        of.take(*SMALL.documents())
        await made.asker.begin()
        assert (clusters(of), of.host(0)) == before


async def test_extensions_are_asked_in_order_each_about_the_clusters_of_the_one_before() -> None:
    def look(found: Clusters) -> None:
        found[ADDED].connect_timeout.seconds = 7

    async with scripted(changing(add)) as first, scripted(changing(look)) as second:
        made = instance(extension(first, "a", **ALONE), extension(second, "b", **ALONE))
        async with running(made, first, second) as of:
            of.take(*SMALL.documents())
            await made.asker.begin()
            assert clusters(of)[ADDED].connect_timeout.seconds == 7


async def test_clusters_are_asked_about_last_for_servers_remember_hosts() -> None:
    order: list[Hook] = []
    good = changing(add)

    async def script(hook: Hook, body: bytes) -> bytes:
        order.append(hook)
        return bytes(await good(hook, body))

    async with shaped(script, **BOTH) as of:
        assert order[-1] == "Translation"
        order.clear()
        await of.servers[0].stop()
        await of.servers[0].start()
        await of.until(lambda: "Translation" in order)
        assert order.index("Translation") >= SMALL.hosts


async def test_a_hook_that_is_not_registered_any_more_leaves_clusters_as_they_are() -> None:
    async with shaped(changing(slow), **ALONE) as of:
        of.take(world.configuration())
        assert {it.connect_timeout.seconds for it in clusters(of).values()} == {2}
        assert of.paths(0) == ["/api/v1", "/api/", "/"]


async def test_a_host_does_not_wait_for_a_cluster_that_another_extension_does_not_add() -> None:
    shapes: dict[str, Any] = {"hooks": {"post": ["VirtualHost"]}}
    async with scripted(changing(add, lead_to_added)) as first, scripted(echoed) as second:
        made = instance(extension(first, "a", **shapes), extension(second, "b", **ALONE))
        async with running(made, first, second) as of:
            of.take(*SMALL.documents())
            await made.asker.begin()
            await of.until(lambda: of.paths(0) == ["500", "500", "500"])
            assert f"names the cluster '{ADDED}'" in told(of)
