"""Routes that refer to objects of an extension, behind a real Envoy: the example of the SDK, and an
extension that fails in every way."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.extension import serving
from contour.extension.examples.header_filter import HeaderFilter
from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.extensionserver import Script, never, scripted
from tests.testbed.load import Load, Request

pytestmark = pytest.mark.envoy

ROUTINGS = ["Shards", "Single"]
GUARDED = "/guarded"
SEEDS = 10
HOSTS = ("live", "edited")
GATEWAY = gateway_class() + gateway("web")


def _route(name: str, number: int = 0) -> str:
    """A host with two rules, of which the first refers to an object; both have the number."""
    header = f"""
    - type: ResponseHeaderModifier
      responseHeaderModifier: {{set: [{{name: x-number, value: "{number}"}}]}}"""
    return f"""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [{name}.example.com]
  rules:
  - matches: [{{path: {{value: {GUARDED}}}}}]
    filters:
    - type: ExtensionRef
      extensionRef: {{group: headers.example.com, kind: HeaderFilter, name: own}}{header}
    backendRefs: [{{name: one, port: 80}}]
  - filters:{header}
    backendRefs: [{{name: one, port: 80}}]
"""


def _object(spec: str = "{response: {set: {x-extension: '1'}}}") -> str:
    return f"""
apiVersion: headers.example.com/v1
kind: HeaderFilter
metadata: {{name: own}}
spec: {spec}
"""


def _configuration(service: str, routing: str) -> str:
    return f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour}}
spec:
  gateway: {{controllerName: projectcontour.io/gateway-controller}}
  envoy: {{listener: {{routing: {routing}}}}}
  extensions:
  - name: headers
    hooks: {{post: [Route]}}
    resources: [{{group: headers.example.com, version: v1, kind: HeaderFilter}}]
    timeout: 300ms
    retries: 0
    service: {service}
"""


@contextlib.asynccontextmanager
async def _served(folder: Path, routing: str, service: str) -> AsyncGenerator[Standalone]:
    files = {"services.yaml": manifest("services.yaml"), "gateway.yaml": GATEWAY}
    files |= {f"{it}.yaml": _route(it) for it in HOSTS}
    files |= {"object.yaml": _object(), "configuration.yaml": _configuration(service, routing)}
    running = standalone(folder, files)
    instance = await asyncio.to_thread(running.__enter__)
    try:
        yield instance
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


async def _until(instance: Standalone, host: str, path: str, status: int, **headers: str) -> None:
    def is_so() -> bool:
        found = instance.ask(f"http://{host}.example.com{path}")
        told = {name: found.headers.get(f"x-{name}", "") for name in headers}
        return found.status == status and told == headers

    async with asyncio.timeout(60):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("routing", ROUTINGS)
async def test_the_example_of_a_header_filter_is_served(routing: str, tmp_path: Path) -> None:
    async with (
        serving(HeaderFilter()) as address,
        _served(tmp_path, routing, f"{{unix: {address.removeprefix('unix:')}}}") as instance,
    ):
        await _until(instance, "live", GUARDED, 200, extension="1", number="0")
        await _until(instance, "live", "/", 200, extension="", number="0")
        instance.write("object.yaml", _object("{response: {set: {x-extension: '2'}}}"))
        await _until(instance, "live", GUARDED, 200, extension="2")
        instance.write("object.yaml", _object("{response: {add: 1}}"))
        told = "stays as it was last served"
        await asyncio.to_thread(instance.until_told, "HTTPRoute default/live", told)
        await _until(instance, "live", GUARDED, 200, extension="2")
        instance.remove("object.yaml")
        await _until(instance, "live", GUARDED, 500)
        told = "HeaderFilter.headers.example.com default/own not found"
        await asyncio.to_thread(instance.until_told, "HTTPRoute default/live", told)
        await _until(instance, "live", "/", 200, extension="")
        instance.write("object.yaml", _object())
        await _until(instance, "live", GUARDED, 200, extension="1")


def _replied(body: bytes, name: str = "") -> bytes:
    (found,) = wire.decoded_request("Route", body).resources["route"]
    made = pb.Route.FromString(found)
    closed = pb.Route(name=name or made.name, match=made.match)
    closed.direct_response.status = 403
    return wire.encoded_reply("Route", {"route": (closed.SerializeToString(),)})


async def _good(_: Hook, body: bytes) -> bytes:
    return _replied(body)


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _large(_: Hook, __: bytes) -> bytes:
    return bytes(5 << 20)


async def _error(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


async def _other(_: Hook, body: bytes) -> bytes:
    return _replied(body, "HTTPRoute/default/other/0123456789")


FAULTS: tuple[Script, ...] = (never, _garbage, _large, _error, _other)


@pytest.mark.parametrize("routing", ROUTINGS)
async def test_whatever_an_extension_does_nothing_is_lost_and_nothing_is_open(
    routing: str, tmp_path: Path
) -> None:
    chance = Random(routing)
    async with scripted(_good) as server:
        host, _, port = server.address.rpartition(":")
        where = f"{{host: {host}, port: {port}}}"
        async with _served(tmp_path, routing, where) as instance:
            hosts = [Request(f"{it}.example.com") for it in HOSTS]
            guarded = [Request(f"{it}.example.com", GUARDED) for it in HOSTS]
            at, how = instance.ports["http"], dict[str, Any](clients=1)
            async with (
                Load(at, hosts, 100, **how).running() as open_,
                Load(at, guarded, 100, **how).running() as closed,
            ):
                for number in range(1, SEEDS + 1):
                    server.script, dies = chance.choice(FAULTS), chance.random() < 0.3
                    if dies:
                        await server.stop()
                    await _edited(instance, number)
                    server.script = _good
                    if dies:
                        await server.start()
                    await _recovered(instance, number)
                async with asyncio.timeout(60):
                    while min(open_.sent, closed.sent) <= 100:
                        await asyncio.sleep(0.02)
            assert not open_.failures
            assert not closed.answers, "nobody was let through"
            assert set(closed.failures) == {"403 "}


async def _edited(instance: Standalone, number: int) -> None:
    """An edit and a new host while the extension fails: of the one the guarded route alone waits,
    of the other what needs the extension is closed."""
    instance.write("edited.yaml", _route("edited", number))
    instance.write("new.yaml", _route(f"new-{number}", number))
    await _until(instance, f"new-{number}", GUARDED, 503)
    await _until(instance, f"new-{number}", "/", 200, number=str(number))
    told = "host edited.example.com: extension headers"
    await asyncio.to_thread(instance.until_told, "HTTPRoute default/edited", told)
    await _until(instance, "edited", "/", 200, number=str(number))
    await _until(instance, "edited", GUARDED, 403)


async def _recovered(instance: Standalone, number: int) -> None:
    instance.write("edited.yaml", _route("edited", 100 + number))
    await _until(instance, "edited", "/", 200, number=str(100 + number))
    await _until(instance, f"new-{number}", GUARDED, 403)
    instance.remove("new.yaml")
    await _until(instance, f"new-{number}", "/", 404)
