"""A server written for Envoy Gateway, in Go and with its types, works unchanged."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from contour.hooks import wire
from contour.hooks.client import Client, Service, Tls
from contour.hooks.replies import Answer
from contour.hooks.wire import Hook, Request
from tests.contour.hooks.questions import about_host, cluster, encoded, host
from tests.testbed import certificates, goextension

pytestmark = pytest.mark.timeout(900)  # it may have to be built

extension_server = goextension.extension_server

OBJECT = json.dumps({"kind": "Filter", "spec": {"header": "ä"}}).encode()
LISTENER = encoded(listener_pb2.Listener(name="l"))
SECRET = encoded(secret_pb2.Secret(name="s"))
REQUESTS: dict[Hook, Request] = {
    "Route": Request({"route": (encoded(route_components_pb2.Route(name="r")),)}, ("a", "b"),
                     (OBJECT,)),
    "VirtualHost": Request({"virtual_host": (host(),)}),
    "HTTPListener": Request({"listener": (LISTENER,)}),
    "Translation": Request({"clusters": (cluster("a"), cluster("b")), "secrets": (SECRET,)}),
}  # fmt: skip
UNDERSTOOD: dict[Hook, dict[str, Any]] = {
    "Route": {"name": "r", "hostnames": ["a", "b"], "objects": [json.loads(OBJECT)]},
    "VirtualHost": {"name": "shop"},
    "HTTPListener": {"name": "l"},
    "Translation": {"name": "", "clusters": ["a", "b"], "secrets": ["s"]},
}


@asynccontextmanager
async def asking(address: str, tls: Tls | None = None) -> AsyncIterator[Client]:
    client = Client(Service(address, tls, deadline=60))
    try:
        yield client
    finally:
        await client.close()


async def resources(client: Client, hook: Hook) -> wire.Resources:
    found = await client.ask(hook, wire.encoded_request(hook, REQUESTS[hook]))
    assert isinstance(found, Answer), found
    return wire.decoded_reply(hook, found.body).resources


@pytest.mark.parametrize("hook", REQUESTS)
async def test_it_understands_what_it_is_asked(extension_server: str, hook: Hook) -> None:
    async with (
        goextension.running(extension_server, "-unchanged") as server,
        asking(server.address) as client,
    ):
        found = await resources(client, hook)
        expected = {"hook": hook, "has_context": True, **UNDERSTOOD[hook]}
        assert await server.asked() == expected
    assert found == (REQUESTS[hook].resources if hook == "Translation" else {})


async def test_what_it_modifies_is_understood(extension_server: str) -> None:
    async with (
        goextension.running(extension_server) as server,
        asking(server.address) as client,
    ):
        found = {hook: await resources(client, hook) for hook in REQUESTS}
    route = route_components_pb2.Route.FromString(found["Route"]["route"][0])
    assert [it.header.value for it in route.response_headers_to_add] == [str(len(OBJECT))]
    listener = listener_pb2.Listener.FromString(found["HTTPListener"]["listener"][0])
    assert listener.stat_prefix == "modified"
    body = found["VirtualHost"]["virtual_host"][0]
    inserted = route_components_pb2.VirtualHost.FromString(body)
    assert [it.name for it in inserted.routes] == ["inserted"]
    lists = found["Translation"]
    names = [cluster_pb2.Cluster.FromString(it).name for it in lists["clusters"]]
    assert names == ["a", "b", "inserted"]
    assert [secret_pb2.Secret.FromString(it).name for it in lists["secrets"]] == ["s", "inserted"]


async def test_its_maps_have_another_order_each_time_and_its_answers_are_equal(
    extension_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: set[bytes] = set()
    real = wire.decoded_reply

    def noted(hook: Hook, body: bytes) -> wire.Reply:
        bodies.add(body)
        return real(hook, body)

    monkeypatch.setattr(wire, "decoded_reply", noted)
    async with (
        goextension.running(extension_server) as server,
        asking(server.address) as client,
    ):
        answers = {await client.ask("VirtualHost", about_host()) for _ in range(20)}
    assert len(bodies) > 1
    assert len(answers) == 1


async def test_by_a_unix_socket(extension_server: str, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/socket"
    async with (
        goextension.running(extension_server, "-listen", address) as server,
        asking(address) as client,
    ):
        await resources(client, "Route")
        assert (await server.asked())["hook"] == "Route"


async def test_by_tls_both_ways(extension_server: str, tmp_path: Path) -> None:
    ours = certificates.authority("ours")
    shown, us = certificates.issued(ours, "127.0.0.1"), certificates.issued(ours, "contour")
    chain, key, authority = certificates.write(shown, ours, tmp_path)
    options = ("-certificate", chain, "-key", key, "-client-authority", authority)
    async with goextension.running(extension_server, *map(str, options)) as server:
        async with asking(server.address, Tls(ours.pem, us.pem, us.key_pem)) as client:
            await resources(client, "Route")
        async with asking(server.address, Tls(ours.pem)) as client:
            found = await client.ask("VirtualHost", about_host())
            assert not isinstance(found, Answer)
            assert found.reason == "Unavailable"
