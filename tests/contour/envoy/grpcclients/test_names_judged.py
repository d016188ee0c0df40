"""Names of resources as gRPC itself writes them: ours must be the same, byte by byte."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest
from grpc import aio

from contour.xds import xdstp
from contour.xds.resources import LISTENER
from tests.contour.envoy.grpcclients.plane import bootstrap
from tests.testbed.grpcpeers import peer
from tests.testbed.patience import PATIENCE

TYPE = LISTENER.rpartition("/")[2]
PIECES = (
    *(
        "a",
        "Z",
        "0",
        "-._~",
        "!$'()*,;",
        ":",
        "@",
        "/",
        "%20",
        "%2F",
        "%2f",
        "%5b",
        "%C3%A9",
        "%3F",
    ),
    *("%25", "%26", "%3D", "%23", "%7E", "+", "%2B"),
)
WRITTEN = (
    "x?z&a=1", "x?a=1&a=2", "x?a=2&a=1", "x?b=%26&a=%3d", "x#fragment", "x?a=1#b=2", "foo/bar",
    "a%40%5bb%5d", "x?a=%2F?/", "x?A=1&a=2&%61=3", "x?=1&b=2", "x?&&a=1", "x?a=b%20c",
)  # fmt: skip


def generated(count: int) -> list[str]:
    chance = random.Random(47)

    def text() -> str:
        return "".join(chance.choices(PIECES, k=chance.randint(1, 4)))

    found: list[str] = []
    while len(found) < count:
        context = (f"{text()}={text()}" for _ in range(chance.randint(0, 3)))
        found.append(f"x{text()}?{'&'.join(context)}".rstrip("?"))
    return found


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that answers nothing, and the names that it is asked for."""
    asked: list[str] = []

    async def note(requests: AsyncIterator[bytes], _: object) -> None:
        async for it in requests:
            asked.extend(DiscoveryRequest.FromString(it).resource_names)

    service = "envoy.service.discovery.v3.AggregatedDiscoveryService"
    method = {"StreamAggregatedResources": grpc.stream_stream_rpc_method_handler(note)}
    server = aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, method),))
    server.add_insecure_port(f"unix:{folder}/ads.sock")
    await server.start()
    try:
        yield f"unix:{folder}/ads.sock", asked
    finally:
        await server.stop(0)


async def test_grpc_asks_for_the_canonical_form(tmp_path: Path) -> None:
    names = [
        f"xdstp://a{number}.test/{TYPE}/{it}"
        for number, it in enumerate((*WRITTEN, *generated(60)))
    ]
    authorities = {
        name.split("/")[2]: {"client_listener_resource_name_template": name} for name in names
    }
    async with listening(tmp_path) as (address, asked):
        with peer({**bootstrap(address), "authorities": authorities}) as client:
            await asyncio.to_thread(client.dial, *(f"xds://{it}/x" for it in authorities))
            async with asyncio.timeout(PATIENCE):
                while len(asked) < len(names):
                    await asyncio.sleep(0.02)
    by_authority = {it.split("/")[2]: it for it in asked}
    for name in names:
        assert xdstp.canonical(name) == by_authority[name.split("/")[2]], name
