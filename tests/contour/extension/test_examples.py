"""The examples, asked by our client over the wire; what they want is served by a real Envoy."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.service.auth.v3 import external_auth_pb2, external_auth_pb2_grpc
from google.protobuf import json_format

from contour.extension import Extension, serving
from contour.extension.examples.authorization import Authorization
from contour.extension.examples.header_filter import HeaderFilter
from contour.hooks import wire
from contour.hooks.client import Client, Service
from contour.hooks.replies import Answer, Failure
from contour.hooks.wire import Field, Hook, Request
from contour.host import installation
from tests.contour.hooks.questions import encoded
from tests.contour.xds.envoys import backend
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port
from tests.testbed.programs import Program

HOST = {"name": "shop", "domains": ["*"]}
ROUTES = {
    path: {"match": {"prefix": path}, "route": {"cluster": "backend"}} for path in ("/special", "/")
}
MANAGER = "http_connection_manager"


async def modified(client: Client, hook: Hook, body: bytes, *objects: object) -> bytes:
    field: Field = wire.FIELDS[hook][0]
    written = tuple(json.dumps(it).encode() for it in objects)
    question = wire.encoded_request(hook, Request({field: (body,)}, ("shop",), written))
    found = await client.ask(hook, question)
    assert isinstance(found, Answer), found
    return wire.decoded_reply(hook, found.body).single or body


async def configuration(client: Client, spec: object, ports: tuple[int, int]) -> dict[str, Any]:
    """What Envoy is told when the server was asked about everything, as we would ask it."""
    own = {"kind": "Mine", "metadata": {"name": "mine", "namespace": "team"}, "spec": spec}
    host = json_format.ParseDict(HOST, route_components_pb2.VirtualHost())
    for path, it in ROUTES.items():
        route = encoded(json_format.ParseDict(it, route_components_pb2.Route()))
        if path == "/special":
            route = await modified(client, "Route", route, own)
        host.routes.add().ParseFromString(route)
    host.ParseFromString(await modified(client, "VirtualHost", encoded(host)))
    listener = listener_pb2.Listener.FromString(
        await modified(client, "HTTPListener", encoded(listening(ports[0])))
    )
    config = listener.filter_chains[0].filters[0].typed_config
    manager = http_connection_manager_pb2.HttpConnectionManager.FromString(config.value)
    manager.route_config.virtual_hosts.add().CopyFrom(host)
    config.Pack(manager)
    body = wire.encoded_request("Translation", Request({"clusters": (backing(ports[1]),)}))
    answer = await client.ask("Translation", body)
    assert isinstance(answer, Answer), answer
    clusters = wire.decoded_reply("Translation", answer.body).resources["clusters"]
    return {
        "listeners": [json_format.MessageToDict(listener)],
        "clusters": [
            json_format.MessageToDict(cluster_pb2.Cluster.FromString(it)) for it in clusters
        ],
    }


def listening(port: int) -> listener_pb2.Listener:
    manager = http_connection_manager_pb2.HttpConnectionManager(stat_prefix="http")
    manager.route_config.SetInParent()
    manager.http_filters.add(name="router").typed_config.Pack(router_pb2.Router())
    listener = listener_pb2.Listener(name="http")
    listener.address.socket_address.address = "127.0.0.1"
    listener.address.socket_address.port_value = port
    chain = listener.filter_chains.add()
    chain.filters.add(name=MANAGER).typed_config.Pack(manager)
    return listener


def backing(port: int) -> bytes:
    cluster = cluster_pb2.Cluster(name="backend")
    cluster.load_assignment.cluster_name = "backend"
    endpoint = cluster.load_assignment.endpoints.add().lb_endpoints.add().endpoint
    endpoint.address.socket_address.address = "127.0.0.1"
    endpoint.address.socket_address.port_value = port
    return encoded(cluster)


@asynccontextmanager
async def served(extension: Extension, spec: object, folder: Path) -> AsyncIterator[str]:
    """The URL of an Envoy that serves what the extension has made of our configuration."""
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(extension))
        ports = free_port(), await stack.enter_async_context(backend("served"))
        client = Client(Service(address, deadline=PATIENCE))
        stack.push_async_callback(client.close)
        resources = await configuration(client, spec, ports)
        bootstrap = folder / "bootstrap.json"
        bootstrap.write_text(json.dumps({"static_resources": resources}))
        envoy = Program()
        stack.push_async_callback(envoy.end)
        await envoy.spawn(
            *(str(installation.binary()), "-c", str(bootstrap), "--concurrency", "1"),
            *("--use-dynamic-base-id", "-l", "warning", "--log-path", str(folder / "log")),
        )
        yield f"http://127.0.0.1:{ports[0]}"


async def get(url: str, **headers: str) -> aiohttp.ClientResponse:
    """An answer, once Envoy listens."""
    async with aiohttp.ClientSession() as session:
        for _ in range(int(PATIENCE * 20)):
            try:
                async with session.get(url, headers=headers) as answer:
                    await answer.read()
                    return answer
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.05)
    raise TimeoutError(url)


@pytest.mark.envoy
async def test_a_header_filter_sets_and_removes_headers(tmp_path: Path) -> None:
    spec = {"response": {"set": {"x-frame-options": "100 %"}, "remove": ["content-type"]}}
    async with served(HeaderFilter(), spec, tmp_path) as url:
        special, other = await get(f"{url}/special"), await get(f"{url}/")
    assert special.status == other.status == 200
    assert special.headers["x-frame-options"] == "100 %"
    assert "x-frame-options" not in other.headers
    assert ("content-type" in special.headers, "content-type" in other.headers) == (False, True)


async def test_a_later_header_filter_removes_what_an_earlier_one_sets() -> None:
    changes = (
        {"set": {"X-A": "1", "x-b": "", "x-c": "1"}, "remove": ["x-d"]},
        {"set": {"X-C": "2", "x-d": "2"}, "remove": ["x-a"]},
    )
    async with serving(HeaderFilter()) as address:
        client = Client(Service(address, deadline=PATIENCE))
        body = await modified(client, "Route", b"", *({"spec": {"response": it}} for it in changes))
        await client.close()
    found = route_components_pb2.Route.FromString(body)
    options = {it.header.key: it for it in found.response_headers_to_add}
    shown = {name: it.header.value for name, it in options.items()}
    assert shown == {"x-b": "", "x-c": "2", "x-d": "2"}
    assert options["x-b"].keep_empty_value
    assert list(found.response_headers_to_remove) == ["x-d", "x-a"]


async def test_a_header_filter_that_is_wrong_is_told() -> None:
    own = json.dumps({"spec": {"response": {"add": {"a": "b"}}}}).encode()
    question = wire.encoded_request("Route", Request({"route": (b"",)}, (), (own,)))
    async with serving(HeaderFilter()) as address:
        client = Client(Service(address, deadline=PATIENCE))
        found = await client.ask("Route", question)
        await client.close()
    assert isinstance(found, Failure)
    assert "response.add Extra inputs are not permitted" in found.message


class Staff(external_auth_pb2_grpc.AuthorizationServicer):
    """Lets in whom the labels of the route name."""

    async def Check(self, request: Any, _: Any) -> Any:  # noqa: N802
        attributes = request.attributes
        wanted: Mapping[str, str] = attributes.context_extensions
        result = external_auth_pb2.CheckResponse()
        is_in = attributes.request.http.headers.get("x-group") == wanted["group"]
        result.status.code = 0 if is_in else 7
        return result


@pytest.mark.envoy
async def test_an_authorization_service_guards_what_refers_to_it(tmp_path: Path) -> None:
    server: Any = grpc.aio.server()
    external_auth_pb2_grpc.add_AuthorizationServicer_to_server(Staff(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    extension = Authorization("127.0.0.1", port)
    async with served(extension, {"labels": {"group": "staff"}}, tmp_path) as url:
        assert (await get(f"{url}/special")).status == 403, "the service is away"
        assert (await get(f"{url}/")).status == 200
        await server.start()
        try:
            for _ in range(int(PATIENCE * 20)):  # Envoy connects again after a second or so
                if (await get(f"{url}/special", **{"x-group": "staff"})).status == 200:
                    break
                await asyncio.sleep(0.05)
            assert (await get(f"{url}/special", **{"x-group": "staff"})).status == 200
            assert (await get(f"{url}/special", **{"x-group": "guest"})).status == 403
        finally:
            await server.stop(None)
