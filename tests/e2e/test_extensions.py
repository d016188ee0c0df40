"""Hosts that an extension shapes, behind a real Envoy: whatever the extension does, nothing is lost
and nothing that it guards is open."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.e2e.standalone import Standalone, contour, manifest, standalone, wait_until_ready
from tests.testbed.extensionserver import Script, Scripted, never, scripted
from tests.testbed.load import Load, Request

pytestmark = pytest.mark.envoy

GUARDED = "/secret"
SEEDS = 5
HOSTS = ("live", "edited")


def _proxy(name: str, number: int = 0) -> str:
    return f"""
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {name}.example.com}}
  routes:
  - services: [{{name: one, port: 80}}]
    responseHeadersPolicy: {{set: [{{name: x-number, value: "{number}"}}]}}
"""


def _configuration(server: Scripted, routing: str) -> str:
    port = server.address.rpartition(":")[2]
    return f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour}}
spec:
  envoy: {{listener: {{routing: {routing}}}}}
  extensions:
  - {{name: guard, hooks: {{post: [VirtualHost]}}, timeout: 300ms, retries: 0,
      service: {{host: 127.0.0.1, port: {port}}}}}
"""


def _answer(body: bytes, number: int = 0) -> bytes:
    """The host with a guard before all its routes, and a header that tells of the extension."""
    (found,) = wire.decoded_request("VirtualHost", body).resources["virtual_host"]
    host = pb.VirtualHost.FromString(found)
    guard = pb.Route(name="guard", match=pb.RouteMatch(path_separated_prefix=GUARDED))
    guard.direct_response.status = 403
    host.routes.insert(0, guard)
    added = host.response_headers_to_add.add().header
    added.key, added.value = "x-extension", str(number)
    encoded = host.SerializeToString(deterministic=True)
    return wire.encoded_reply("VirtualHost", {"virtual_host": (encoded,)})


async def _good(_: Hook, body: bytes) -> bytes:
    return _answer(body)


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _large(_: Hook, __: bytes) -> bytes:
    return bytes(5 << 20)


async def _error(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


async def _other(_: Hook, __: bytes) -> bytes:
    host = pb.VirtualHost(name="live.example.com", domains=["other"]).SerializeToString()
    return wire.encoded_reply("VirtualHost", {"virtual_host": (host,)})


async def _empty(_: Hook, __: bytes) -> bytes:
    """Nobody's: it names a cluster that is not there, so its routes are closed."""
    (found,) = wire.decoded_request("VirtualHost", __).resources["virtual_host"]
    host = pb.VirtualHost.FromString(found)
    host.routes[0].route.cluster = "nobody"
    return wire.encoded_reply("VirtualHost", {"virtual_host": (host.SerializeToString(),)})


FAULTS: tuple[Script, ...] = (never, _garbage, _large, _error, _other)


@contextlib.asynccontextmanager
async def _served(
    folder: Path, routing: str, script: Script = _good
) -> AsyncGenerator[tuple[Standalone, Scripted]]:
    async with scripted(script) as server:
        files = {"services.yaml": manifest("services.yaml")}
        files |= {f"{it}.yaml": _proxy(it) for it in HOSTS}
        files["configuration.yaml"] = _configuration(server, routing)
        running = standalone(folder, files)
        instance = await asyncio.to_thread(running.__enter__)
        try:
            yield instance, server
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)


async def _until(instance: Standalone, host: str, path: str, status: int, number: str = "") -> None:
    def is_so() -> bool:
        found = instance.ask(f"http://{host}.example.com{path}")
        return found.status == status and found.headers.get("x-number", "") == number

    async with asyncio.timeout(60):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("routing", ["Shards", "Single"])
async def test_whatever_an_extension_does_nothing_is_lost_and_nothing_is_open(
    routing: str, tmp_path: Path
) -> None:
    chance = Random(routing)
    async with _served(tmp_path, routing) as (instance, server):
        for host in HOSTS:
            await _until(instance, host, GUARDED, 403)
            await _until(instance, host, "/", 200, "0")
        hosts = [Request(f"{it}.example.com") for it in HOSTS]
        guarded = [Request(f"{it}.example.com", GUARDED) for it in HOSTS]
        port, how = instance.ports["http"], dict[str, Any](clients=1)
        async with (
            Load(port, hosts, 100, **how).running() as open_,
            Load(port, guarded, 100, **how).running() as closed,
        ):
            for number in range(1, SEEDS + 1):
                await _disturbed(instance, server, chance, number)
            async with asyncio.timeout(60):
                while min(open_.sent, closed.sent) <= 100:
                    await asyncio.sleep(0.02)
        assert not open_.failures
        assert not closed.answers, "nobody was let through"
        assert set(closed.failures) == {"403 "}


async def _disturbed(instance: Standalone, server: Scripted, chance: Random, number: int) -> None:
    """An edit and a new host while the extension fails; both are served when it is back."""
    fault, dies = chance.choice(FAULTS), chance.random() < 0.3
    server.script = fault
    if dies:
        await server.stop()
    instance.write("edited.yaml", _proxy("edited", number))
    instance.write("new.yaml", _proxy(f"new-{number}", number))
    await _until(instance, f"new-{number}", "/", 503)
    await _until(instance, f"new-{number}", GUARDED, 503)
    told = "NotAnswered: host edited.example.com: extension guard"
    await asyncio.to_thread(instance.until_told, "HTTPProxy default/edited", told)
    server.script = _good
    if dies:
        await server.start()
    instance.write("edited.yaml", _proxy("edited", 100 + number))
    await _until(instance, "edited", "/", 200, str(100 + number))
    await _until(instance, f"new-{number}", GUARDED, 403)
    instance.remove("new.yaml")
    await _until(instance, f"new-{number}", "/", 404)


async def test_what_was_answered_once_is_served_after_a_restart_without_the_extension(
    tmp_path: Path,
) -> None:
    async with _served(tmp_path, "Shards") as (instance, server):
        await _until(instance, "live", "/", 200, "0")
        await server.stop()
        await asyncio.to_thread(instance.process.stop)
        with contour(tmp_path, instance.ports) as again:
            await asyncio.to_thread(wait_until_ready, again)
            for _ in range(50):
                assert again.ask("http://live.example.com/").headers["x-extension"] == "0"
                assert again.ask(f"http://live.example.com{GUARDED}").status == 403
            again.write("live.yaml", _proxy("live", 7))
            await asyncio.to_thread(again.until_told, "HTTPProxy default/live", "NotAnswered")
            assert again.ask("http://live.example.com/").headers["x-number"] == "0"


async def test_an_extension_that_is_away_at_the_start_closes_its_hosts_and_no_port(
    tmp_path: Path,
) -> None:
    async with _served(tmp_path, "Shards", _error) as (instance, server):
        assert instance.ask("http://live.example.com/").status == 503
        server.script = _empty
        await server.stop()
        await server.start()
        await _until(instance, "live", "/", 500)
        told = "names the cluster 'nobody'"
        await asyncio.to_thread(instance.until_told, "HTTPProxy default/live", told)
        server.script = _good
        await server.stop()
        await server.start()
        await _until(instance, "live", GUARDED, 403)
        await _until(instance, "live", "/", 200, "0")
