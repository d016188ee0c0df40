"""A client for Envoy's administration interface."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

_OURS = ("http.admin.", "http.monitoring.", "listener.admin.", "listener.monitoring.")
_TIMEOUT = 10.0
"""Seconds; Envoy's main thread, which answers, may be busy with a large configuration."""
_STARTED = r"^listener_manager\.workers_started$"
_LOST = r"^filesystem\.write_failed$"
_ACTIVE = r"^(http\..*\.downstream_(rq|cx)_active|listener\..*\.downstream_cx_active)$"
_OF_A_THREAD = re.compile(r"\.(worker_\d+|main_thread)\.downstream_cx_active$")
"""The share of one thread in the gauge of its listener."""
_COUNTED = frozenset(
    (
        "http.admin.downstream_rq_active",
        "http.admin.downstream_cx_active",
        "listener.admin.downstream_cx_active",
    )
)
"""Gauges of the interface itself, which every Envoy has unless its bootstrap leaves them out."""


class UncountedError(Exception):
    """Envoy does not count what is open."""


class Activity(NamedTuple):
    """The open requests and connections of clients."""

    requests: int
    streams: int
    """TCP connections that are passed on as they are: Envoy reads no requests on them."""
    connections: int
    """Of any kind, whether or not something happens on them."""

    @property
    def is_busy(self) -> bool:
        """Whether clients would lose something that is under way."""
        return bool(self.requests or self.streams)


def named(address: str) -> "Administration":
    """The interface at the path of a socket, or at HOST:PORT."""
    return Administration(Path(address) if "/" in address else address)


@dataclass(frozen=True, slots=True)
class Administration:
    """One Envoy's administration interface."""

    address: Path | str
    """A Unix socket, or HOST:PORT of the loopback interface."""

    async def is_live(self) -> bool:
        """Whether Envoy has its first configuration, all listeners are open, and it is not
        draining."""
        try:
            async with self._session() as session, session.get("/ready") as answer:
                return answer.status == 200 and await self._is_accepting()
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _is_accepting(self) -> bool:
        # Envoy calls itself ready a moment before its workers have opened the listeners.
        return any(gauge["value"] == 1 for gauge in await self._gauges(_STARTED))

    async def drain(self) -> None:
        """Stops accepting connections; each response tells its client to close the connection."""
        await self.fail_health_checks()
        await self._post("/drain_listeners")

    async def fail_health_checks(self) -> None:
        """Makes Envoy unready; each response tells its client to close the connection."""
        await self._post("/healthcheck/fail")

    async def _post(self, path: str) -> None:
        async with self._session() as session, session.post(path) as answer:
            answer.raise_for_status()

    async def activity(self) -> Activity:
        """What is open now, without what comes to this interface or to listeners for probes.
        Raises UncountedError."""
        gauges = await self._gauges(_ACTIVE)
        if not _COUNTED.issubset(it["name"] for it in gauges):
            raise UncountedError("its bootstrap leaves out the gauges of requests and connections")
        return _activity(gauges)

    async def lost_writes(self) -> int:
        """How often Envoy could not write to a file (its access log) since it was started."""
        try:
            return sum(it["value"] for it in await self._statistics("Counters", _LOST))
        except (aiohttp.ClientError, TimeoutError):
            return 0

    async def _gauges(self, pattern: str) -> list[dict[str, Any]]:
        return await self._statistics("Gauges", pattern)

    async def _statistics(self, kind: str, pattern: str) -> list[dict[str, Any]]:
        query = {"format": "json", "type": kind, "filter": pattern}
        async with self._session() as session, session.get("/stats", params=query) as answer:
            answer.raise_for_status()
            found: list[dict[str, Any]] = json.loads(await answer.text())["stats"]
            return [gauge for gauge in found if "name" in gauge]

    def _session(self) -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
        if isinstance(self.address, str):
            return aiohttp.ClientSession(base_url=f"http://{self.address}", timeout=timeout)
        connector = aiohttp.UnixConnector(str(self.address))
        return aiohttp.ClientSession(base_url="http://admin", connector=connector, timeout=timeout)


def _activity(gauges: Iterable[dict[str, Any]]) -> Activity:
    users = {it["name"]: it["value"] for it in gauges if _is_of_users(it["name"])}

    def total(kind: str, gauge: str) -> int:
        return sum(
            value
            for name, value in users.items()
            if name.startswith(f"{kind}.") and name.endswith(f".{gauge}")
        )

    connections = total("listener", "downstream_cx_active")
    # The gauges are not read at one moment, so there may seem to be less than none.
    streams = max(connections - total("http", "downstream_cx_active"), 0)
    return Activity(total("http", "downstream_rq_active"), streams, connections)


def _is_of_users(gauge: str) -> bool:
    return not gauge.startswith(_OURS) and _OF_A_THREAD.search(gauge) is None
