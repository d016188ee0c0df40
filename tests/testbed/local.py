"""An instance of the product in this process, whose output can be corrupted on its way to Envoys.

Our translation should never generate what Envoy refuses; so errors are planted after it, in the
parts of one host or Service. Everything else is the product: rules, fleet, stream, statuses.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from contour.instance import Instance
from contour.xds import resources
from contour.xds.fleet import Fleet
from contour.xds.server import Server
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from tests.testbed import world
from tests.testbed.fed import Took
from tests.testbed.programs import usage
from tests.testbed.world import Document

Plant = Callable[[bytes], bytes]
"""Turns the body of a part into one that Envoy refuses."""


@dataclass(slots=True, eq=False)
class Spoilt(Instance):
    """An instance, some of whose parts are corrupted."""

    hosts: dict[str, Plant] = field(default_factory=dict)
    services: dict[str, Plant] = field(default_factory=dict)

    def _publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        Instance._publish(self, fleet, map(self._spoilt, changes))

    def _spoilt(self, change: resources.Change) -> resources.Change:
        plant = self._plant(change)
        if plant is None or change.value is None:
            return change
        body = plant(change.value.body)
        return change._replace(
            value=replace(change.value, body=body, digest=resources.digest(body))
        )

    def _plant(self, change: resources.Change) -> Plant | None:
        if change.name.type_url == resources.ROUTE:
            return self.hosts.get(change.part)
        if change.name.type_url == resources.CLUSTER:
            return self.services.get(change.name.name.split("/")[1])
        return None


class Local:
    """Has the methods of `fed.Fed`; it is started only once."""

    def __init__(self, folder: Path, ports: Iterable[tuple[int, int]]) -> None:
        self.socket = folder / "xds.sock"
        self.instance = Spoilt(Server((f"unix:{self.socket}",)))
        self.instance.controller.use_host_ports(HostPorts("127.0.0.1", tuple(ports)))

    @property
    def fleet(self) -> Fleet:
        """The only one."""
        return self.instance.server.fleet(DEFAULT_FLEET)

    def keep(self, documents: Iterable[Document]) -> None:
        """Sets the objects with which it starts."""
        self.instance.take(world.batch(*documents))

    async def start(self) -> float:
        """Starts serving; returns when the port was open."""
        await self.instance.server.start()
        return time.monotonic()

    async def change(self, put: Sequence[Document] = (), gone: Sequence[Document] = ()) -> Took:
        """Applies one event, or several at one moment."""
        came = time.monotonic()
        self.instance.take(world.batch(*put, gone=gone))
        return Took(came, time.monotonic(), **usage())

    async def end(self) -> None:
        """Stops serving."""
        await self.instance.server.stop()

    def told(self, kind: str, name: str) -> str:
        """What its status tells the owner of an object."""
        rows = self.instance.controller.board.rows()
        found = (it for it in rows if (it.subject.kind, it.subject.name) == (kind, name))
        return " ".join(it for row in found for it in (row.summary, *row.reasons))

    async def until(self, is_so: Callable[[], object], seconds: float = 5.0) -> float:
        """Waits for something in this process; returns the seconds that took."""
        start = time.monotonic()
        async with asyncio.timeout(seconds):
            while not is_so():
                await asyncio.sleep(0.002)
        return time.monotonic() - start
