"""A world served by a control plane and an Envoy in processes of their own, for faults to hit."""

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.measuring import rig, world
from hack.measuring.faults.processes import Plane, Proxy
from hack.measuring.world import Document, World
from tests.testbed import probe
from tests.testbed.load import Connection, Load, Request

BACKENDS = 2


@dataclass(slots=True)
class Served:
    """What is served, by whom, and where."""

    control: Plane
    envoy: Proxy
    of: World
    port: int
    documents: dict[tuple[str, ...], Document] = field(default_factory=dict)
    edits: int = 0

    def put(self, *documents: Document) -> None:
        """Notes the newest state, for the next start of the control plane."""
        self.documents |= {_key(it): it for it in documents}
        self.control.keep(self.documents.values())

    async def change(self, put: Sequence[Document] = (), gone: Sequence[Document] = ()) -> rig.Took:
        """One event, or several at one moment."""
        self.documents |= {_key(it): it for it in put}
        for it in gone:
            self.documents.pop(_key(it), None)
        return await self.control.change(put, gone)

    def edited(self, number: int) -> tuple[Document, Request, probe.Sign]:
        """A route of a host with another header, and how an answer shows that."""
        self.edits += 1
        shown = f"edit-{self.edits}"
        request = Request(world.fqdn(number), "/api/v1")
        return (
            self.of.child(number, header=shown),
            request,
            lambda it: it.headers.get("x-edit") == shown,
        )

    async def seen(
        self, request: Request, sign: probe.Sign, may_be: Iterable[int] = (200,)
    ) -> float:
        """When the first answer shows a change; no answer before may be another than these."""
        connection = Connection(self.port)
        try:
            return await probe.observed(connection, request, sign, frozenset(may_be))
        finally:
            connection.close()

    async def edit(self, number: int) -> float:
        """Edits a route and waits for an answer that shows it; the seconds that took."""
        document, request, sign = self.edited(number)
        took = await self.change([document])
        return await self.seen(request, sign) - took.came

    def load(self, rate: float, hosts: Iterable[int] | None = None) -> Load:
        """Requests to these hosts, in turn."""
        numbers = range(self.of.hosts) if hosts is None else hosts
        return Load(self.port, [Request(world.fqdn(it)) for it in numbers], rate)

    async def restart(self) -> float:
        """Starts the control plane on what is noted; when its port was open."""
        self.control.keep(self.documents.values())
        await self.control.start()
        return time.monotonic()


def stage(hosts: int, services: int = 10) -> Any:
    """A stage with so many hosts."""

    @contextlib.asynccontextmanager
    async def staged() -> AsyncIterator[Served]:
        with tempfile.TemporaryDirectory(prefix="faults-") as path:
            async with rig.backends(BACKENDS) as ports:
                folder, port = Path(path), rig.free_port()
                of = World(hosts, services, backends=ports)
                control = Plane(folder, ((80, port), (443, rig.free_port())))
                site = Served(control, Proxy(folder, control.socket), of, port)
                site.put(*of.documents())
                try:
                    await control.start()
                    await site.envoy.start()
                    yield site
                finally:
                    await site.envoy.kill()
                    await control.kill()

    return staged


def _key(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]
