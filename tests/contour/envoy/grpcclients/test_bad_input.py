"""Clients that ask for what nobody should: each is refused with a reason, or finds nothing."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest, DiscoveryResponse
from grpc import aio

from contour.xds import xdstp
from contour.xds.byname import MOST_NAMES
from contour.xds.resources import LISTENER
from dag import exports
from tests.contour.envoy.grpcclients.plane import (
    Plane,
    bootstrap,
    configuration,
    endpoints,
    plane,
    service,
)
from tests.testbed.grpcpeers import peer
from tests.testbed.ports import free_port

grpcio: Any = aio  # the stubs are of what the product uses
ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
OWN = "echo.shop:50051"


async def asked(of: Plane, names: Sequence[str], viewer: str = "shop") -> list[str] | str:
    """The types of the resources that a stream is told at once, or why it is ended."""
    request = DiscoveryRequest(type_url=LISTENER, resource_names=names)
    request.node.id, request.node.cluster = "stranger", f"{exports.FLEET}/{viewer}"

    async def requests() -> AsyncIterator[bytes]:
        yield request.SerializeToString()

    async with grpcio.insecure_channel(of.address) as channel:
        try:
            call = channel.stream_stream(ADS)(requests())
            async for answer in call:
                found = DiscoveryResponse.FromString(bytes(answer))
                return [it.type_url for it in found.resources]
        except aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
    return "ended"


TOO_MANY = f"INVALID_ARGUMENT: more than {MOST_NAMES} subscriptions"


@pytest.mark.parametrize(
    ("names", "viewer", "told"),
    [
        ([OWN], "shop", [LISTENER]),
        ([OWN, "x" * 10_000, "xdstp:", "xdstp://a.example/\n"], "shop", [LISTENER]),
        ([xdstp.named("nobody.example", LISTENER, OWN)], "shop", []),
        ([OWN, "*"], "bank", []),
        ([], "shop", []),
        ([f"name-{it}.shop:{it}" for it in range(100_000)], "shop", TOO_MANY),
        ([OWN] * 100_000, "shop", TOO_MANY),
        ([OWN], "", f"NOT_FOUND: there is no fleet '{exports.FLEET}/'"),
    ],
)
async def test_it_is_bounded_and_concerns_nobody_else(
    tmp_path: Path, names: Sequence[str], viewer: str, told: list[str] | str
) -> None:
    port = free_port()
    own = configuration("a.example", namespaces=["shop"])
    async with plane(tmp_path, own, service("echo"), endpoints("echo", port)) as it:
        with peer() as servers, peer(bootstrap(it.address)) as client:
            servers.serve(("one", port))
            await it.asked(client.start, f"xds:///{OWN}")
            found = await asked(it, names, viewer)
            if isinstance(told, str):
                assert str(found).startswith(told)
            else:
                assert found == told
            said = await it.asked(client.stop)
            assert said.errors == {}
            assert said.replies.keys() == {"one"}
            assert not list(it.server.fleets[exports.FLEET].quarantine)
