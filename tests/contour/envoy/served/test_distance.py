"""Uploads over HTTP/2 from far away: how much is sent ahead in one round trip."""

import asyncio
import time
from typing import Any

import pytest

from dag import nodes
from tests.contour.envoy import clients, delaying, world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import HTTP, Served
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

HOST = "far.test"
SIZE = 8 * 1024 * 1024
"""Bytes of an upload."""
ONE_WAY = 0.05
"""Seconds."""


def hosts(served: Served) -> None:
    near = nodes.Cluster(HTTP.services[0].port)
    served.serve(HOST, world.route(world.forward(near)))


@pytest.mark.parametrize(
    ("windows", "least", "most"),
    [
        ({}, 3, 20),
        ({"stream_window": 65_536, "connection_window": 1 << 20}, 100, 300),
        ({"stream_window": 1 << 23}, 0, 2),
    ],
)
async def test_an_upload_waits_for_as_few_round_trips_as_its_window_allows(
    envoy: Served, windows: dict[str, Any], least: int, most: int
) -> None:
    envoy.proxy.world.engine.write(world.EDGES, (), nodes.Edge(**windows))
    await envoy.proxy.publish()
    await peers.eventually(lambda: envoy.proxy.fleet.acceptance.is_settled)
    await _offered(envoy, windows.get("stream_window", 1 << 20))
    async with (
        delaying.distant(envoy.secure, ONE_WAY) as port,
        clients.tcp(port, "h2", HOST) as connection,
    ):
        assert isinstance(connection, clients.Http2)
        assert await connection.ask(HOST) == 418  # the windows are known from here on
        began = time.monotonic()
        waits = await connection.upload(HOST, SIZE)
        print(f"{windows}: {waits} waits, {SIZE / 1e6 / (time.monotonic() - began):.2f} MB/s")
    assert least <= waits <= most
    assert len(await envoy.peers.visits[-1].read()) == SIZE


async def _offered(envoy: Served, window: int) -> None:
    """A listener that Envoy has accepted takes over from the one before a little later."""
    found = 0
    async with asyncio.timeout(PATIENCE):
        while found != window:
            async with clients.tcp(envoy.secure, "h2", HOST) as connection:
                assert isinstance(connection, clients.Http2)
                await connection.ask(HOST)
                found = connection.state.remote_settings.initial_window_size
