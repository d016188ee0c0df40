"""Envoys without a supervisor, which outlive their control plane, and their backends."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from contour import bootstrap
from contour.host import administration, installation
from dag.fleetnames import DEFAULT_FLEET
from tests.testbed import processes
from tests.testbed.programs import Program

DRAIN_SECONDS = 3
"""How long Envoy lets replaced listeners and chains live: shorter than the longest responses."""


class Envoy(Program):
    """A real Envoy, on a control plane at a Unix socket."""

    def __init__(
        self, folder: Path, name: str = "envoy", resolver: str = "", drain: int = DRAIN_SECONDS
    ) -> None:
        self.name = name
        self._drain = drain
        self._resolving = processes.resolving(folder, resolver) if resolver else ()
        self.admin = folder / f"{name}-admin.sock"
        self._log = folder / f"{name}.log"
        self.configuration = folder / f"{name}.json"

    def configure(self, control_plane: Path) -> None:
        """Writes the bootstrap configuration."""
        settings = bootstrap.Settings(
            node=self.name,
            fleet=DEFAULT_FLEET,
            control_plane=bootstrap.Pipe(control_plane),
            admin=self.admin,
        )
        self.configuration.write_text(bootstrap.text(settings))

    async def start(self) -> None:
        """Returns when it serves."""
        with self._log.open("ab") as log:
            await self.spawn(
                *self._resolving,
                *(str(installation.binary()), "--config-path", str(self.configuration)),
                *("--disable-hot-restart", "--drain-strategy", "immediate"),
                *("--drain-time-s", str(self._drain), "--log-level", "warning"),
                stdout=log,
                stderr=log,
            )
        asked = administration.Administration(self.admin)
        async with asyncio.timeout(60):
            while not await asked.is_live():
                await asyncio.sleep(0.02)

    async def page(self, path: str, **query: str) -> str:
        """The answer of its administration interface."""
        async with self._session() as session, session.get(path, params=query) as answer:
            text: str = await answer.text()
            return text

    async def ready(self) -> int | None:
        """The HTTP status of its readiness page; None if nothing answers."""
        try:
            async with self._session() as session, session.get("/ready") as answer:
                status: int = answer.status
                return status
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None

    async def stats(self, pattern: str) -> dict[str, int]:
        """Its counters and gauges whose names match."""
        found = await self.page("/stats", format="json", filter=pattern)
        return {it["name"]: it["value"] for it in json.loads(found)["stats"] if "name" in it}

    async def total(self, pattern: str) -> int:
        """The sum of the counters whose names match."""
        return sum((await self.stats(pattern)).values())

    async def tables(self) -> dict[str, str]:
        """When Envoy last applied each RouteConfiguration."""
        dumped = json.loads(await self.page("/config_dump", resource="dynamic_route_configs"))
        return {it["route_config"]["name"]: it["last_updated"] for it in dumped.get("configs", ())}

    @property
    def refusals(self) -> int:
        """How often it has logged that it refuses something."""
        return self._log.read_text(errors="replace").count(" rejected: ")

    def _session(self) -> Any:
        connector = aiohttp.UnixConnector(str(self.admin))
        timeout = aiohttp.ClientTimeout(total=60)
        return aiohttp.ClientSession("http://admin", connector=connector, timeout=timeout)


@contextlib.asynccontextmanager
async def backends(number: int, address: str = "127.0.0.1") -> AsyncIterator[tuple[int, ...]]:
    """Backends `b0`, `b1` …, all in one process; yields their ports."""
    names, process = [f"b{it}" for it in range(number)], Program()
    await process.spawn(
        *(sys.executable, "-m", "contour.demo.backends", "--address", address),
        *(f"{it}=0" for it in names),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # it logs every client that disconnects
    )
    try:
        assert process.process.stdout is not None
        ports = json.loads(await process.process.stdout.readline())
        yield tuple(ports[it] for it in names)
    finally:
        await process.end()
