"""Envoys that start with a bootstrap of ours and get their configuration from a server of ours."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contour import bootstrap, host
from contour.host import state
from contour.xds.server import Server
from tests.contour.xds import world
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state.StateDirectory]:
    with state.claimed(tmp_path / "state") as claimed:
        yield claimed


@contextlib.asynccontextmanager
async def serving(server: Server, port: int | None = None) -> AsyncIterator[Server]:
    """A control plane that serves one host, on that port."""
    site = [*world.site("example.com", "one", 1), world.route_head("web")]
    server.fleet("contour").publish([*site, world.listener("web", port or free_port(), "web")])
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def live(directory: state.StateDirectory, text: str) -> AsyncIterator[aiohttp.ClientSession]:
    """An Envoy that serves; yields a session with its administration."""
    async with (
        host.EnvoyProcess(directory, text, host.EnvoyOptions(concurrency=1)) as envoy,
        aiohttp.ClientSession(
            "http://admin", connector=aiohttp.UnixConnector(str(directory.socket(host.ADMIN)))
        ) as session,
    ):
        await envoy.live()
        yield session


def settings(
    directory: state.StateDirectory,
    control_plane: bootstrap.SocketAddress | None = None,
    credentials: bootstrap.Credentials | None = None,
    monitoring: bootstrap.SocketAddress | None = None,
    hides_stats: bool = False,
) -> bootstrap.Settings:
    """An Envoy whose control plane is at that address, or at a socket in the directory."""
    return bootstrap.Settings(
        node="one",
        fleet="contour",
        control_plane=control_plane or bootstrap.Pipe(directory.socket("xds.sock")),
        credentials=credentials,
        admin=directory.socket(host.ADMIN),
        monitoring=monitoring,
        hides_stats=hides_stats,
    )


async def gauge(session: aiohttp.ClientSession, name: str) -> int | None:
    """The value of a gauge; None if there is none of that name."""
    async with session.get("/stats", params={"format": "json", "filter": f"^{name}$"}) as answer:
        found: list[dict[str, Any]] = json.loads(await answer.text())["stats"]
    return next((it["value"] for it in found if it.get("name") == name), None)


async def until(session: aiohttp.ClientSession, name: str, value: int) -> None:
    """Waits until a gauge has that value."""
    async with asyncio.timeout(PATIENCE):
        while await gauge(session, name) != value:
            await asyncio.sleep(0.01)
