"""Clusters that an extension adds, behind a real Envoy: the example that guards routes by a service
of its own, and an extension that fails in every way while clusters change."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from envoy.service.auth.v3 import external_auth_pb2_grpc

from contour.extension import serving
from contour.extension.examples.authorization import Authorization
from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.contour.extension.test_examples import Staff
from tests.contour.extensioncalls.test_translation import Clusters, changing
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.extensionserver import Script, echoed, never, scripted
from tests.testbed.load import Load, Request

pytestmark = pytest.mark.envoy

ROUTINGS = ["Shards", "Single"]
ROUNDS = 5
IMPATIENT = "timeout: 300ms, retries: 0"
ROUTES = (
    gateway_class()
    + gateway("web")
    + """
---
apiVersion: authz.example.com/v1
kind: Authorization
metadata: {name: staff}
spec: {labels: {group: staff}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: live}
spec:
  parentRefs: [{name: web}]
  hostnames: [live.example.com]
  rules:
  - matches: [{path: {value: /staff}}]
    filters:
    - type: ExtensionRef
      extensionRef: {group: authz.example.com, kind: Authorization, name: staff}
    backendRefs: [{name: one, port: 80}]
  - backendRefs: [{name: one, port: 80}]
"""
)


def configuration(routing: str, entry: str) -> str:
    return f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  gateway: {{controllerName: projectcontour.io/gateway-controller}}
  envoy: {{listener: {{routing: {routing}}}}}
  extensions:
  - {{name: guard, {entry}}}
"""


@contextlib.asynccontextmanager
async def served(folder: Path, configured: str, objects: str) -> AsyncGenerator[Standalone]:
    files = {"services.yaml": manifest("services.yaml"), "objects.yaml": objects}
    running = standalone(folder, files | {"configuration.yaml": configured})
    instance = await asyncio.to_thread(running.__enter__)
    try:
        yield instance
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(what):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("routing", ROUTINGS)
async def test_the_example_guards_routes_by_a_service_whose_cluster_it_adds(
    routing: str, tmp_path: Path
) -> None:
    service: Any = grpc.aio.server()
    external_auth_pb2_grpc.add_AuthorizationServicer_to_server(Staff(), service)
    extension = Authorization("127.0.0.1", service.add_insecure_port("127.0.0.1:0"))
    async with serving(extension) as address:
        entry = (
            "hooks: {post: [Route, VirtualHost, HTTPListener, Translation]}, "
            "resources: [{group: authz.example.com, version: v1, kind: Authorization}], "
            f"service: {{unix: {address.removeprefix('unix:')}}}"
        )
        async with served(tmp_path, configuration(routing, entry), ROUTES) as instance:

            def status(path: str, group: str) -> int:
                url = f"http://live.example.com{path}"
                try:
                    return instance.ask(url, headers={"x-group": group}).status
                except ConnectionRefusedError:
                    return 0  # the listener waits for the extension

            await until(lambda: status("/", "guest") == 200)
            assert await asyncio.to_thread(status, "/staff", "staff") == 403, "it is away"
            await service.start()
            try:
                await until(lambda: status("/staff", "staff") == 200)
                assert await asyncio.to_thread(status, "/staff", "guest") == 403
            finally:
                await service.stop(None)


def _proxy(name: str, number: int) -> str:
    """A host whose cluster is another one for each number."""
    return f"""
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {name}.example.com}}
  routes:
  - responseHeadersPolicy: {{set: [{{name: x-number, value: "{number}"}}]}}
    timeoutPolicy: {{idleConnection: {number + 10}s}}
    services: [{{name: one, port: 80}}]
"""


def _slow(found: Clusters) -> None:
    for it in found.values():
        it.connect_timeout.seconds = 9


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _nothing(_: Hook, __: bytes) -> bytes:
    return b""


async def _error(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


async def _twice(_: Hook, body: bytes) -> bytes:
    found = wire.decoded_request("Translation", body).resources["clusters"]
    return wire.encoded_reply("Translation", {"clusters": found * 2})


FAULTS: tuple[Script, ...] = (never, _garbage, _nothing, _error, _twice)
_good = changing(_slow)


async def test_whatever_an_extension_does_about_clusters_nothing_is_lost(tmp_path: Path) -> None:
    chance = Random(1)
    async with scripted(_good) as server:
        host, _, port = server.address.rpartition(":")
        entry = (
            f"{IMPATIENT}, hooks: {{post: [Translation]}}, service: {{host: {host}, port: {port}}}"
        )
        objects = "---".join((_proxy("live", 0), _proxy("other", 0)))
        async with served(tmp_path, configuration("Shards", entry), objects) as instance:

            def number() -> str:
                return instance.ask("http://live.example.com/").headers.get("x-number", "")

            def is_number(wanted: str) -> bool:
                return number() == wanted

            requests = [Request("live.example.com"), Request("other.example.com")]
            load = Load(instance.ports["http"], requests, 100, clients=1)
            await until(lambda: number() == "0")
            async with load.running() as answered:
                for it in range(1, ROUNDS + 1):
                    server.script = chance.choice(FAULTS)
                    both = (_proxy("live", it), _proxy("other", 0))
                    await asyncio.to_thread(instance.write, "objects.yaml", "---".join(both))
                    told = "stays as it was last served"
                    subject = "HTTPProxy default/live"
                    await asyncio.to_thread(instance.until_told, subject, told)
                    assert await asyncio.to_thread(number) == str(it - 1)
                    server.script = _good
                    await server.stop()
                    await server.start()
                    await until(partial(is_number, str(it)))
                await until(lambda: answered.sent > 100)
            assert not answered.failures


async def test_what_an_extension_echoes_is_served_unchanged(tmp_path: Path) -> None:
    async with scripted(echoed) as server:
        host, _, port = server.address.rpartition(":")
        entry = f"hooks: {{post: [Translation]}}, service: {{host: {host}, port: {port}}}"
        configured = configuration("Shards", entry)
        async with served(tmp_path, configured, _proxy("live", 0)) as instance:
            await until(lambda: instance.ask("http://live.example.com/").status == 200)
