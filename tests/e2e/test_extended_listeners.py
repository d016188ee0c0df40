"""Listeners that an extension shapes, behind a real Envoy: whatever the extension does, the guard
that it has put before all hosts lets nobody through, and nothing is lost."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from envoy.config.core.v3 import base_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.rbac.v3 import rbac_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as filter_pb2

from contour.hooks.wire import Hook
from tests.contour.extensioncalls.served import Manager
from tests.contour.extensioncalls.test_listeners import changing, put, reply
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.extensionserver import Script, Scripted, never, scripted
from tests.testbed.load import Load, Request

pytestmark = pytest.mark.envoy

GUARD = "example.guard"
GUARDED = "/secret"
ROUNDS = 5
CONFIGURATION = "ContourConfiguration projectcontour/contour"


def _proxy(name: str) -> str:
    return f"""
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {name}.example.com}}
  routes: [{{services: [{{name: one, port: 80}}]}}]
"""


def _configuration(server: Scripted, routing: str, number: int = 0, hooks: str = "") -> str:
    port = server.address.rpartition(":")[2]
    return f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  envoy:
    listener: {{routing: {routing}, maxHeadersCount: {100 + number}}}
  extensions:
  - {{name: guard, hooks: {{post: [HTTPListener{hooks}]}}, timeout: 300ms, retries: 0,
      service: {{host: 127.0.0.1, port: {port}}}}}
"""


def _rbac() -> filter_pb2.RBAC:
    """Refuses what begins with the guarded path."""
    result = filter_pb2.RBAC()
    result.rules.action = rbac_pb2.RBAC.DENY
    policy = result.rules.policies["secret"]
    policy.permissions.add().url_path.path.prefix = GUARDED
    policy.principals.add().any = True
    return result


def _guard(_: Any, manager: Manager) -> None:
    """The guard before everything of ours, and a header that tells of the listener's version."""
    mutation = header_mutation_pb2.HeaderMutation()
    added = mutation.mutations.response_mutations.add().append
    added.header.key = "x-listener"
    added.header.value = str(manager.common_http_protocol_options.max_headers_count.value)
    added.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    put(manager, 0, mutation, "example.headers")
    put(manager, 0, _rbac(), GUARD)


def _unchanged_host(_: route_components_pb2.VirtualHost) -> None:
    """Nothing."""


_good = changing(_guard, _unchanged_host)


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _large(_: Hook, __: bytes) -> bytes:
    return bytes(5 << 20)


async def _error(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


async def _other(_: Hook, __: bytes) -> bytes:
    return reply(listener_pb2.Listener(name="somebody-else"))


def _leaves_ours_out(_: Any, manager: Manager) -> None:
    del manager.http_filters[:-1]


FAULTS: tuple[Script, ...] = (
    never, _garbage, _large, _error, _other, changing(_leaves_ours_out)
)  # fmt: skip


@contextlib.asynccontextmanager
async def _served(
    folder: Path, routing: str, script: Script, hooks: str = ""
) -> AsyncGenerator[tuple[Standalone, Scripted]]:
    async with scripted(script) as server:
        files = {"services.yaml": manifest("services.yaml"), "live.yaml": _proxy("live")}
        files["configuration.yaml"] = _configuration(server, routing, hooks=hooks)
        running = standalone(folder, files)
        instance = await asyncio.to_thread(running.__enter__)
        try:
            yield instance, server
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)


async def _until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(what):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("routing", ["Shards", "Single"])
async def test_whatever_an_extension_does_its_guard_stays_and_nothing_is_lost(
    routing: str, tmp_path: Path
) -> None:
    chance = Random(routing)
    async with _served(tmp_path, routing, _good) as (instance, server):
        await _until(lambda: instance.ask(f"http://live.example.com{GUARDED}").status == 403)
        open_, closed = Request("live.example.com"), Request("live.example.com", GUARDED)
        port, how = instance.ports["http"], dict[str, Any](clients=1)
        async with (
            Load(port, [open_], 100, **how).running() as answered,
            Load(port, [closed], 100, **how).running() as refused,
        ):
            for number in range(1, ROUNDS + 1):
                await _disturbed(instance, server, chance, routing, number)
            await _until(lambda: min(answered.sent, refused.sent) > 100)
        assert not answered.failures
        assert not refused.answers, "nobody was let through"
        assert set(refused.failures) == {"403 RBAC: access denied"}


async def _disturbed(
    instance: Standalone, server: Scripted, chance: Random, routing: str, number: int
) -> None:
    """An edit of the listener while the extension fails is in force when it is back."""

    def version() -> str:
        return instance.ask("http://live.example.com/").headers.get("x-listener", "")

    before = await asyncio.to_thread(version)
    server.script, dies = chance.choice(FAULTS), chance.random() < 0.3
    if dies:
        await server.stop()
    instance.write("configuration.yaml", _configuration(server, routing, number))
    told = "stays as it was last served"
    await asyncio.to_thread(instance.until_told, CONFIGURATION, told)
    instance.write("new.yaml", _proxy(f"new-{number}"))
    url = f"http://new-{number}.example.com"
    await _until(lambda: instance.ask(f"{url}/").status == 200)
    assert instance.ask(f"{url}{GUARDED}").status == 403, "a new host is behind the guard, too"
    assert await asyncio.to_thread(version) == before
    server.script = _good
    await server.stop()
    await server.start()
    await _until(lambda: version() == str(100 + number))


def _idle(_: Any, manager: Manager) -> None:
    put(manager, 0, _rbac(), GUARD, disabled=True)


def _enabled(host: route_components_pb2.VirtualHost) -> None:
    if host.name == "live.example.com":
        config = route_components_pb2.FilterConfig()
        config.config.Pack(filter_pb2.RBACPerRoute(rbac=_rbac()))
        host.typed_per_filter_config[GUARD].Pack(config)


@pytest.mark.parametrize(("routing", "status"), [("Shards", 500), ("Single", 403)])
async def test_a_guard_that_routes_enable_runs_in_the_single_table_and_closes_its_hosts_elsewhere(
    routing: str, status: int, tmp_path: Path
) -> None:
    script = changing(_idle, _enabled)
    async with _served(tmp_path, routing, script, ", VirtualHost") as (instance, _):
        instance.write("other.yaml", _proxy("other"))
        await _until(lambda: instance.ask("http://other.example.com/").status == 200)
        open_ = 500 if status == 500 else 200
        await _until(lambda: instance.ask(f"http://live.example.com{GUARDED}").status == status)
        await _until(lambda: instance.ask("http://live.example.com/").status == open_)
