"""Hosts that an extension shapes: what is asked, and what is served until it has answered."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import routing
from contour.envoy.credentials import Pieces
from contour.hooks.wire import Hook
from dag import hookservers, nodes
from dag.engine.view import View
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls.served import (
    WORLD,
    Shaped,
    add_header,
    asked_host,
    changing,
    extension,
    instance,
    reply,
    running,
    shaped,
)
from tests.testbed import world
from tests.testbed.extensionserver import echoed, never, scripted, unchanged
from tests.testbed.world import World

SHAPES = changing(add_header)
KEY = nodes.HostKey(DEFAULT_FLEET, "ingress_http", world.fqdn(3))


async def _broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


def told(of: Shaped, number: int = 0) -> str:
    return of.told("HTTPProxy", world.namespace(number), f"root-{number}")


@pytest.mark.usefixtures("unhurried")
async def test_every_host_is_asked_about_once_and_served_as_the_extension_says() -> None:
    async with shaped(SHAPES) as of:
        assert all(of.is_changed(it) for it in range(WORLD.hosts))
        assert of.asked == WORLD.hosts


@pytest.mark.usefixtures("unhurried")
async def test_an_edit_asks_for_its_host_and_for_no_other() -> None:
    async with shaped(SHAPES) as of:
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: "/new" in of.paths(3))
        assert of.is_changed(3)
        assert of.asked == WORLD.hosts + 1


async def test_a_host_is_encoded_again_when_it_is_answered_for_and_not_while_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[nodes.HostKey] = []
    rule = routing.host.rule

    def counted(view: View, key: nodes.HostKey) -> Pieces | None:
        encoded.append(key)
        return rule(view, key)

    async with shaped(SHAPES) as of:
        monkeypatch.setattr(routing.host, "rule", counted)
        of.take(WORLD.root(3, "/new"))
        assert not encoded
        await of.until(lambda: "/new" in of.paths(3))
        assert encoded == [KEY]


@pytest.mark.usefixtures("unhurried")
async def test_what_goes_back_to_an_earlier_state_is_asked_about_again() -> None:
    """Questions that nobody depends on are forgotten."""
    async with shaped(SHAPES) as of:
        for path in ("/new", "/"):
            of.take(WORLD.root(3, path))
            await of.until_last_is(3, path)
        assert of.asked == WORLD.hosts + 2


async def test_what_is_ours_is_not_shown_and_is_there_afterwards() -> None:
    seen: list[pb.VirtualHost] = []

    def look(host: pb.VirtualHost) -> None:
        seen.append(host)
        host.routes.reverse()

    document = WORLD.root(0)
    document["spec"]["routes"][0]["rateLimitPolicy"] = {"local": {"requests": 1, "unit": "second"}}
    others = [it for it in WORLD.documents() if it["metadata"]["name"] != "root-0"]
    async with shaped(changing(look), documents=[document, *others]) as of:
        shown = next(it for it in seen if it.name == world.fqdn(0))
        assert not shown.request_headers_to_remove
        assert not shown.metadata.filter_metadata
        assert not shown.typed_per_filter_config
        assert not any(it.typed_per_filter_config for it in shown.routes)
        assert len({it.name for it in shown.routes}) == len(shown.routes)
        host = of.host(0)
        assert host is not None
        assert host.typed_per_filter_config
        limited = [it for it in host.routes if it.typed_per_filter_config]
        assert [it.match.prefix for it in limited] == ["/"]
        assert [it.name for it in limited] == ["HTTPProxy/team-0/root-0"]


@pytest.mark.parametrize("script", [_broken, never])
async def test_a_host_that_was_never_answered_for_is_closed_and_told(script: Any) -> None:
    async with shaped(script, timeout="100ms", retries=0) as of:
        assert of.paths(0) == ["503"]
        assert "NotAnswered: host host-0.example.com: extension shaper does not answer" in told(of)
        assert "until then the host answers 503" in told(of)
        await of.until(lambda: "spec.extensions[0]" in _configuration(of))
        of.servers[0].script = SHAPES
        await of.until(lambda: all(of.is_changed(it) for it in range(WORLD.hosts)))
        assert not told(of)
        await of.until(lambda: not _configuration(of))


def _configuration(of: Shaped) -> str:
    return of.told("ContourConfiguration", "projectcontour", "contour")


async def test_a_sidecar_is_waited_for_while_it_starts(tmp_path: Path) -> None:
    """It starts together with the control plane, whose port must not open before it."""
    path = tmp_path / "shaper.sock"
    entry = {
        "name": "shaper",
        "hooks": {"post": ["VirtualHost"]},
        "service": {"unix": str(path)},
    }
    made = instance(entry)
    sidecar = replace(made.controller.engine.ask(hookservers.servers, ())[0], is_sidecar=True)
    made.asker.connect("shaper", hookservers.Connection(sidecar))
    async with running(made) as of:
        of.take(*WORLD.documents())
        async with asyncio.TaskGroup() as tasks:
            begun = tasks.create_task(made.asker.begin())
            await asyncio.sleep(0.2)
            assert not begun.done()
            async with scripted(SHAPES, address=f"unix:{path}"):
                await begun
                assert all(of.is_changed(it) for it in range(WORLD.hosts))


async def test_fail_open_serves_it_without_the_changes() -> None:
    async with shaped(_broken, failOpen=True) as of:
        assert of.paths(0) == ["/api/v1", "/api/", "/"]
        assert not of.is_changed(0)
        assert "served without these changes" in told(of)


@pytest.mark.parametrize("fail_open", [False, True])
async def test_an_edit_that_is_not_answered_for_leaves_what_was_served(*, fail_open: bool) -> None:
    async with shaped(SHAPES, failOpen=fail_open) as of:
        before = of.host(3)
        of.servers[0].script = _broken
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: "stays as it was last served" in told(of, 3))
        assert of.host(3) == before
        assert not told(of, 4)
        of.servers[0].script = SHAPES
        of.take(WORLD.root(3, "/newer"))
        await of.until(lambda: "/newer" in of.paths(3))
        assert of.is_changed(3)
        assert not told(of, 3)


async def test_removals_do_not_wait() -> None:
    async with shaped(SHAPES) as of:
        of.servers[0].script = _broken
        child, (root, _) = WORLD.child(3), WORLD.host(3)
        child["spec"]["routes"] = child["spec"]["routes"][:1]
        of.take(child)
        assert of.paths(3) == ["/api/v1", "/"]
        assert of.is_changed(3)
        of.take(gone=[root])
        assert of.host(3) is None


async def test_a_server_that_is_back_is_asked_everything_and_equal_answers_change_nothing() -> None:
    async with shaped(SHAPES) as of:
        (server,) = of.servers
        before = of.host(0)
        await server.stop()
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: "stays as it was last served" in told(of, 3))
        asked = of.asked
        runs = of.instance.controller.engine.work.runs
        await server.start()
        await of.until(lambda: "/new" in of.paths(3))
        await of.until(lambda: of.asked >= asked + WORLD.hosts)
        assert of.host(0) is not None
        assert of.host(0) == before
        assert of.instance.controller.engine.work.runs - runs < 60


async def test_another_answer_after_a_reconnect_counts_when_it_is_given_twice() -> None:
    async with shaped(SHAPES) as of:
        (server,) = of.servers
        await server.stop()
        server.script = unchanged
        await server.start()
        await of.until(lambda: not any(of.is_changed(it) for it in range(WORLD.hosts)))


async def test_of_a_server_that_answers_differently_each_time_the_first_answer_stays() -> None:
    number = 0

    def differently(host: pb.VirtualHost) -> None:
        nonlocal number
        number += 1
        added = host.response_headers_to_add.add().header
        added.key, added.value = "x-number", str(number)

    async with shaped(changing(differently)) as of:
        (server,) = of.servers
        before = [of.host(it) for it in range(WORLD.hosts)]
        await server.stop()
        await server.start()
        await of.until(lambda: "20 equal questions differently" in _configuration(of))
        assert [of.host(it) for it in range(WORLD.hosts)] == before


async def test_after_a_restart_old_answers_serve_while_the_server_is_away(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    async with shaped(SHAPES, answers=answers) as of:
        (server,) = of.servers
        before = [of.host(it) for it in range(WORLD.hosts)]
        entry = extension(server)
    made = instance(entry, answers=answers)
    async with running(made, server) as of:
        of.take(*WORLD.documents())
        await made.asker.begin()
        assert [of.host(it) for it in range(WORLD.hosts)] == before
        await of.until(lambda: "does not answer" in _configuration(of))
        assert [of.host(it) for it in range(WORLD.hosts)] == before


async def test_extensions_are_asked_in_order_each_about_the_answer_before_it() -> None:
    seen: list[bool] = []

    def look(host: pb.VirtualHost) -> None:
        seen.append(bool(host.response_headers_to_add))

    async with scripted(SHAPES) as first, scripted(changing(look)) as second:
        made = instance(extension(first, "first"), extension(second, "second"))
        async with running(made, first, second) as of:
            of.take(*WORLD.documents())
            await made.asker.begin()
            assert seen == [True] * WORLD.hosts
            assert of.is_changed(0)
            second.script = _broken
            of.take(WORLD.root(3, "/new"))
            await of.until(lambda: "extension second" in told(of, 3))
            assert "/new" not in of.paths(3), "a chain that is not finished is not served"


async def test_the_order_in_which_answers_arrive_does_not_matter() -> None:
    delays = {True: 0.0, False: 0.05}

    def script(first_is_slow: bool) -> Any:
        async def answer(_: Hook, body: bytes) -> bytes:
            host = asked_host(body)
            is_first = host.name < world.fqdn(WORLD.hosts // 2)
            await asyncio.sleep(delays[is_first is not first_is_slow])
            add_header(host)
            return reply(host)

        return answer

    found: list[list[bytes]] = []
    for first_is_slow in (True, False):
        async with shaped(script(first_is_slow)) as of:
            hosts = [of.host(it) for it in range(WORLD.hosts)]
            found.append([it.SerializeToString(deterministic=True) for it in hosts if it])
    assert found[0] == found[1]
    assert len(found[0]) == WORLD.hosts


async def test_without_extensions_a_host_is_as_it_was() -> None:
    async with shaped(SHAPES) as of:
        of.take(world.configuration())
        assert not of.is_changed(0)
        assert of.paths(0) == ["/api/v1", "/api/", "/"]
        assert not told(of)


@pytest.mark.parametrize(
    "post", [["VirtualHost"], ["HTTPListener"], ["Translation"], ["Route", "HTTPListener"]]
)
async def test_what_was_served_before_an_extension_was_registered_stays(post: list[str]) -> None:
    async with scripted(_broken) as server:
        made = instance()
        async with running(made, server) as of:
            of.take(*WORLD.documents())
            before = _served(of)
            assert before
            kind = {"group": "example.com", "version": "v1", "kind": "Guard"}
            more: dict[str, Any] = {"resources": [kind]} if "Route" in post else {}
            entry = extension(server, hooks={"post": post}, **more)
            of.take(world.configuration(extensions=[entry]), World.of(21).root(20))
            await of.until(lambda: "does not answer" in _configuration(of))
            after = _served(of)
            assert {it: after[it] for it in before if it in after} == before
            assert (of.paths(20) == ["503"]) is (post == ["VirtualHost"]), "a new host waits"
            server.script = echoed
            await server.stop()
            await server.start()
            await of.until(lambda: not _configuration(of))


def _served(of: Shaped) -> dict[tuple[str, str], object]:
    """All clusters, listeners and hosts."""
    types = of.instance.server.fleet(DEFAULT_FLEET).store.types
    return {
        (kind, f"{name}/{part}"): it.body
        for kind, found in types.items()
        for name, resource in found.items()
        for part, it in resource.parts.items()
    }
