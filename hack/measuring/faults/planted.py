"""A control plane in this process, whose output can be spoilt on its way to the Envoys.

Our translation should never make what Envoy refuses; so that is planted behind it, into the parts
of one host or Service. Everything else is the product: rules, fleet, stream, statuses.
"""

import asyncio
import contextlib
import gc
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contour.controller import Controller
from contour.xds import resources
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.server import Server
from dag.listeners import DEFAULT_FLEET
from dag.ports import HostPorts
from hack.measuring import instance, rig, world
from hack.measuring.faults.processes import Proxy
from hack.measuring.faults.table import Turn
from hack.measuring.world import Document, World
from tests.testbed import probe
from tests.testbed.load import Answer, Connection, Load, Request

Plant = Callable[[bytes], bytes]
"""Makes the body of a part what an Envoy refuses."""


RATE, AFTER = 300, 0.5


@dataclass(slots=True)
class Planted:
    """A fleet, the controller that feeds it, and a real Envoy."""

    folder: Path
    server: Server
    of: World
    port: int
    hosts: dict[str, Plant] = field(default_factory=dict)
    services: dict[str, Plant] = field(default_factory=dict)
    edits: int = 0
    controller: Controller = field(init=False)
    envoy: Proxy = field(init=False)

    @property
    def fleet(self) -> Fleet:
        """The only one."""
        return self.server.fleet(DEFAULT_FLEET)

    def publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        """Takes what the controller made."""
        self.server.fleet(fleet).publish(self._spoilt(changes))

    def change(self, *documents: Document) -> None:
        """One event."""
        self.controller.take(instance.batch(*documents))

    def remove(self, *documents: Document) -> None:
        """One event: all of these are gone."""
        self.controller.take(instance.removal(*documents))

    def edited(self, number: int) -> tuple[Document, probe.Sign]:
        """A route of a host with another header, and how an answer shows that."""
        self.edits += 1
        shown = f"edit-{self.edits}"
        return self.of.child(number, header=shown), _shows(shown)

    async def seen(self, number: int, sign: probe.Sign, *may_be: int) -> float:
        """When the first answer of a host shows a change."""
        connection = Connection(self.port)
        try:
            request = Request(world.fqdn(number), "/api/v1")
            return await probe.observed(connection, request, sign, frozenset({200, *may_be}))
        finally:
            connection.close()

    async def ask(self, number: int) -> Answer:
        """What the edited route of a host answers."""
        connection = Connection(self.port)
        try:
            return await connection.ask(Request(world.fqdn(number), "/api/v1"))
        finally:
            connection.close()

    @contextlib.asynccontextmanager
    async def loaded(self, turn: Turn) -> AsyncIterator[None]:
        """Requests to the edited route of every host, in turn, until a while after."""
        requests = [Request(world.fqdn(it), "/api/v1") for it in range(self.of.hosts)]
        async with Load(self.port, requests, RATE).running() as tally:
            yield
            await asyncio.sleep(AFTER)
        turn.count(tally)

    def told(self, kind: str, name: str) -> str:
        """What the owner of an object is told is wrong with it."""
        rows = self.controller.board.rows()
        found = (it for it in rows if (it.subject.kind, it.subject.name) == (kind, name))
        return " ".join(it for row in found for it in (row.summary, *row.reasons))

    async def until(self, is_so: Callable[[], object], seconds: float = 5.0) -> float:
        """Waits for something in this process; the seconds that took."""
        start = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            while not is_so():
                await asyncio.sleep(0.002)
        return asyncio.get_running_loop().time() - start

    def _spoilt(self, changes: Iterable[resources.Change]) -> Iterator[resources.Change]:
        for it in changes:
            plant = self._plant(it)
            if plant is None or it.value is None:
                yield it
                continue
            body = plant(it.value.body)
            yield it._replace(value=_with(it.value, body))

    def _plant(self, change: resources.Change) -> Plant | None:
        if change.name.type_url == resources.ROUTE:
            return self.hosts.get(change.part)
        if change.name.type_url == resources.CLUSTER:
            return self.services.get(change.name.name.split("/")[1])
        return None


def stage(hosts: int, services: int = 10, patience: Patience | None = None) -> Any:
    """A stage with so many hosts."""

    @contextlib.asynccontextmanager
    async def staged() -> AsyncIterator[Planted]:
        with tempfile.TemporaryDirectory(prefix="faults-") as path:
            async with rig.backends(2) as ports:
                folder, port = Path(path), rig.free_port()
                of = World(hosts, services, backends=ports)
                server = Server((f"unix:{folder}/xds",), patience or Patience())
                site = Planted(folder, server, of, port)
                await _start(site)
                try:
                    await site.envoy.start()
                    yield site
                finally:
                    await site.envoy.kill()
                    await server.stop()
                    gc.collect()

    return staged


async def _start(site: Planted) -> None:
    site.controller = Controller(site.publish)
    site.controller.bind(HostPorts("127.0.0.1", ((80, site.port), (443, rig.free_port()))))
    loop, settle = asyncio.get_running_loop(), site.controller.settle
    site.fleet.witness = site.controller.hear(DEFAULT_FLEET, lambda: _soon(loop, settle))
    site.change(*site.of.documents())
    await site.server.start()
    site.envoy = Proxy(site.folder, site.folder / "xds")


def _soon(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    loop.call_soon(settle)


def _shows(shown: str) -> probe.Sign:
    return lambda it: it.headers.get("x-edit") == shown


def _with(part: resources.Part, body: bytes) -> resources.Part:
    return replace(part, body=body, digest=resources.digest(body))
