"""A real Envoy on a real socket: nothing is lost, nothing bad spreads."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from contour import freedports
from contour.envoy import outputs
from contour.xds.acceptance import State
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.resources import CLUSTER, LISTENER, ROUTE, Change, Name
from contour.xds.server import Server
from tests.contour.xds import envoys, world
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port, free_ports

pytestmark = pytest.mark.envoy


@dataclass
class Site:
    """A server, an Envoy, two backends and a browser."""

    server: Server
    fleet: Fleet
    socket: str
    admin: Path
    browser: envoys.Browser
    one: int
    two: int
    port: int


@asynccontextmanager
async def site(folder: Path, api_type: str = "DELTA_GRPC") -> AsyncIterator[Site]:
    port = free_port()
    socket_path = f"{folder}/xds"
    server = Server((f"unix:{socket_path}",), Patience(absence=0.1, grace=0.05))
    fleet = server.fleet("web")
    async with envoys.backend("one") as one, envoys.backend("two") as two:
        fleet.publish([world.route_head("web"), world.listener("http", port, "web")])
        fleet.publish(world.site("a.test", "one", one))
        await server.start()
        async with (
            envoys.envoy(folder, socket_path, api_type) as admin,
            envoys.browser(port) as browser,
        ):
            await browser.until("a.test", "one", {"refused"})
            yield Site(server, fleet, socket_path, admin, browser, one, two, port)
        await server.stop()


async def gone(site: Site, cluster: str) -> None:
    """Until Envoy does not know a cluster any more."""
    async with asyncio.timeout(PATIENCE):
        while f"{cluster}::" in await envoys.admin(site.admin, "clusters"):
            pass


@pytest.mark.parametrize("api_type", ["DELTA_GRPC", "GRPC"])
async def test_changes_of_all_kinds_lose_no_request(tmp_path: Path, api_type: str) -> None:
    async with site(tmp_path, api_type) as it:
        asked = 0
        for number in range(20):
            cluster = f"c{number}"
            text, port = ("two", it.two) if number % 2 == 0 else ("one", it.one)
            old = [world.cluster("one"), world.endpoints("one")]
            if number:
                old = [world.cluster(f"c{number - 1}"), world.endpoints(f"c{number - 1}")]
            it.fleet.publish([*world.site("a.test", cluster, port), *world.gone(*old)])
            asked += await it.browser.until("a.test", text, {"one", "two"})
            it.fleet.publish(world.site(f"new{number}.test", f"n{number}", it.one))
            asked += await it.browser.until(f"new{number}.test", "one", {"404"})
        await gone(it, "c18")
        assert asked >= 40


@pytest.mark.parametrize("api_type", ["DELTA_GRPC", "GRPC"])
async def test_a_bad_host_is_found_and_its_neighbours_answer(tmp_path: Path, api_type: str) -> None:
    async with site(tmp_path, api_type) as it:
        more = [world.host("web", f"g{number}.test", "one") for number in range(6)]
        bad = world.host("web", "bad.test", "one", ["A.test"])
        it.fleet.publish([*more, bad])
        for change in more:
            await it.browser.until(change.part, "one", {"404"})
            assert await it.browser.get("a.test") == "one"
        await _refused(it, Name(ROUTE, "web"), "bad.test")
        answer = it.fleet.acceptance.answer(Name(ROUTE, "web"), "bad.test")
        assert "a.test" in answer.words.lower()
        await _newcomer_gets_what_is_good(it, tmp_path)
        it.fleet.publish([world.host("web", "bad.test", "one")])
        await it.browser.until("bad.test", "one", {"404"})


async def test_a_host_that_is_refused_from_the_start_is_not_served_by_a_wildcard(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as it:
        it.fleet.quarantine.stand_in = outputs.stand_in
        it.fleet.publish([world.host("web", "*.test", "one")])
        await it.browser.until("g.test", "one", {"404"})
        it.fleet.publish([world.host("web", "bad.test", "one", ["A.test"])])
        await it.browser.until("bad.test", "503", {"one"})
        assert await it.browser.get("g.test") == "one"
        it.fleet.publish([world.host("web", "bad.test", "one")])
        await it.browser.until("bad.test", "one", {"503"})


@pytest.mark.parametrize("api_type", ["DELTA_GRPC", "GRPC"])
async def test_a_listener_is_served_when_its_port_is_free_again(
    tmp_path: Path, api_type: str
) -> None:
    """A new one, and one that listened on another port before."""
    async with site(tmp_path, api_type) as it:
        with (
            socket.create_server(("127.0.0.1", 0)) as one,
            socket.create_server(("127.0.0.1", 0)) as two,
        ):
            taken = [held.getsockname()[1] for held in (one, two)]
            found = [
                world.listener("new", taken[0], "web"),
                world.listener("http", taken[1], "web"),
            ]
            it.fleet.publish(found)
            for change in found:
                await _refused(it, change.name, "")
            freedports.serve_again(it.fleet)
            assert len(list(it.fleet.quarantine)) == 2
            assert await it.browser.get("a.test") == "one"
        freedports.serve_again(it.fleet)
        for port in taken:
            async with envoys.browser(port) as browser:
                await browser.until("a.test", "one", {"refused"})
        assert not list(it.fleet.quarantine)


async def _refused_and_paced(it: Site) -> Change:
    """A listener whose port was taken, while changes of another one wait."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = world.listener("http", taken.getsockname()[1], "web")
        it.fleet.publish([found])
        await _refused(it, found.name, "")
        for port in free_ports(8):
            it.fleet.publish([world.listener("other", port, "web")])
    assert it.fleet.pacing.waiting
    return found


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_refused_listener_is_not_served_again_over_a_newer_change(
    tmp_path: Path, is_removed: bool
) -> None:
    async with site(tmp_path) as it:
        found = await _refused_and_paced(it)
        newer = world.listener("http", free_port(), "web")
        it.fleet.publish(world.gone(found) if is_removed else [newer])
        freedports.serve_again(it.fleet)
        async with asyncio.timeout(PATIENCE):
            while it.fleet.pacing.waiting or not it.fleet.acceptance.is_settled:
                await asyncio.sleep(0.01)
        served = it.fleet.store.resource(found.name)
        assert (served and served.parts[""]) == (None if is_removed else newer.value)
        assert not list(it.fleet.quarantine)


async def test_a_refusal_is_over_once_the_listener_is_accepted(tmp_path: Path) -> None:
    """It does not wait for changes of others, and nobody is told before."""
    async with site(tmp_path) as it:
        found = await _refused_and_paced(it)
        told: list[State] = []
        it.fleet.observer.recovered = lambda name, part: told.append(  # type: ignore[method-assign]
            it.fleet.acceptance.answer(name, part).state
        )
        freedports.serve_again(it.fleet)
        assert (it.fleet.store.types[LISTENER]["http"].parts[""], told) == (found.value, [])
        async with asyncio.timeout(PATIENCE):
            while not told:
                await asyncio.sleep(0.01)
        assert told == [State.ACCEPTED]


async def _refused(it: Site, name: Name, part: str) -> None:
    """Waits until Envoy's word is known, which may come after its neighbours answer."""
    async with asyncio.timeout(PATIENCE):
        while it.fleet.acceptance.answer(name, part).state is not State.REFUSED:
            await it.browser.get("a.test")


async def _newcomer_gets_what_is_good(it: Site, folder: Path) -> None:
    await it.browser.until("g5.test", "one", set())
    newcomer = folder / "newcomer"
    newcomer.mkdir()
    port = free_port()
    it.fleet.publish([world.listener("more", port, "web")])
    async with envoys.envoy(newcomer, it.socket), envoys.browser(port) as browser:
        await browser.until("g5.test", "one", {"refused"})
        assert await browser.get("bad.test") == "404"


async def test_a_bad_cluster_is_found_and_the_others_are_used(tmp_path: Path) -> None:
    async with site(tmp_path) as it:
        bad = world.cluster("bad", lb_policy="CLUSTER_PROVIDED")
        good = [change for n in range(4) for change in world.site(f"g{n}.test", f"g{n}", it.two)]
        it.fleet.publish([bad, world.endpoints("bad"), *good])
        for number in range(4):
            await it.browser.until(f"g{number}.test", "two", {"404"})
        await _refused(it, bad.name, "")


async def test_a_silent_name_server_delays_nobody_else(tmp_path: Path) -> None:
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    async with site(tmp_path) as it:
        it.fleet.publish([world.dns_cluster("silent", silent.getsockname()[1])])
        for number in range(5):
            cluster = Name(CLUSTER, f"n{number}")
            it.fleet.publish(world.site(f"n{number}.test", f"n{number}", it.two))
            await it.browser.until(f"n{number}.test", "two", {"404"})
            # Envoy acknowledges no cluster while one warms: that is what must not be waited for.
            assert it.fleet.acceptance.answer(cluster, "").state is State.PENDING
    silent.close()


async def test_a_restarted_control_plane_takes_nothing_away(tmp_path: Path) -> None:
    async with site(tmp_path) as it:
        web = [world.route_head("web"), world.listener("http", it.port, "web")]
        b = world.site("b.test", "two", it.two)
        it.fleet.publish(b)
        await it.browser.until("b.test", "two", {"404"})
        await it.server.stop()
        assert await it.browser.get("b.test") == "two"
        again = Server((f"unix:{it.socket}",), Patience(absence=0.1, grace=0.05))
        fleet = again.fleet("web")
        fleet.publish([*web, *b, *world.site("a.test", "three", it.two)])
        await again.start()
        await it.browser.until("a.test", "two", {"one"})
        assert await it.browser.get("b.test") == "two"
        await again.stop()
