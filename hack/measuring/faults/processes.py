"""Processes that faults can be done to: they freeze, thaw, and are asked how they fare."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp

from hack.measuring import instance, rig


class Plane(rig.ControlPlane):
    """A control plane."""

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How the process ended, if it did."""
        assert self._process is not None
        return self._process.returncode

    async def stop(self) -> float:
        """Asks it to end; how long that took."""
        assert self._process is not None
        assert self._process.stdin is not None
        start = time.monotonic()
        self._process.stdin.close()
        await self._process.wait()
        return time.monotonic() - start

    def freeze(self) -> None:
        """It is there, and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def twin(self) -> "Plane":
        """Another one, to be started at the same address with the same world."""
        return Plane(self.socket.parent, self._ports)

    @property
    def is_frozen(self) -> bool:
        """Whether the kernel says so."""
        return state(self.pid) == "T"

    @property
    def resident(self) -> float:
        """Its memory in MiB."""
        return instance.resident(self.pid)


class Proxy(rig.Envoy):
    """An Envoy."""

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How the process ended, if it did."""
        assert self._process is not None
        return self._process.returncode

    async def stats(self, pattern: str) -> dict[str, int]:
        """Its counters and gauges with such names."""
        found = await self._asked("/stats", format="json", filter=pattern)
        return {it["name"]: it["value"] for it in json.loads(found)["stats"] if "name" in it}

    async def total(self, pattern: str) -> int:
        """The sum of such counters."""
        return sum((await self.stats(pattern)).values())

    async def updates(self) -> dict[str, int]:
        """How many responses of each type it has taken; RouteConfigurations are not counted."""
        found = await self.stats(_UPDATES)
        kinds = {name: _kind(name) for name in found}
        return {
            kind: sum(value for name, value in found.items() if kinds[name] == kind)
            for kind in kinds.values()
        }

    async def tables(self) -> dict[str, str]:
        """When each RouteConfiguration was last taken."""
        dumped = json.loads(await self._asked("/config_dump", resource="dynamic_route_configs"))
        return {it["route_config"]["name"]: it["last_updated"] for it in dumped.get("configs", ())}

    @property
    def refusals(self) -> int:
        """How often it has logged that it refuses something."""
        return self.log.count(" rejected: ")

    async def ready(self) -> int | None:
        """The status of its readiness; None if there is nobody to ask."""
        try:
            async with self._session() as session, session.get("/ready") as answer:
                status: int = answer.status
                return status
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None

    async def _asked(self, page: str, **query: str) -> str:
        async with self._session() as session, session.get(page, params=query) as answer:
            text: str = await answer.text()
            return text

    def _session(self) -> Any:
        connector = aiohttp.UnixConnector(str(self.admin))
        timeout = aiohttp.ClientTimeout(total=5)
        return aiohttp.ClientSession("http://admin", connector=connector, timeout=timeout)


_ENDPOINTS = "cluster_manager.cluster_updated"  # endpoints that came by ADS have no other counter
_UPDATES = r"(\.(cds|lds|scoped_rds|sds)\..*update_success|^cluster_manager\.cluster_updated)$"


def _kind(statistic: str) -> str:
    """The type that a counter of updates is about."""
    if statistic == _ENDPOINTS:
        return "eds"
    words = statistic.split(".")
    return next(it for it in ("cds", "lds", "scoped_rds", "sds") if it in words)


def state(pid: int) -> str:
    """The letter by which the kernel tells how a process is."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("State:"):
            return line.split()[1]
    return ""
