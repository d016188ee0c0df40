"""A served world: an instance of the product, a real Envoy, and backends.

The instance runs in a process of its own (`fed`), or in this process, where its output can be
corrupted on its way (`local`). Traffic stays on the loopback interface.
"""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from tests.testbed import probe, world
from tests.testbed.envoys import DRAIN_SECONDS, Envoy, backends
from tests.testbed.fed import Fed, Took
from tests.testbed.load import Answer, Connection, Load, Request
from tests.testbed.local import Local
from tests.testbed.ports import free_ports
from tests.testbed.world import Document, World

BACKENDS = 2


@dataclass(slots=True, kw_only=True)
class Front:
    """A world behind Envoys, and how to send them requests."""

    of: World
    ports: Sequence[int]
    """The ports of Envoys for plain HTTP."""
    edits: int = 0

    @property
    def port(self) -> int:
        """The port of the first Envoy."""
        return self.ports[0]

    def edited(self, number: int) -> tuple[Document, Request, probe.Sign]:
        """A route of a host with another header, a request for it, and how an answer shows the
        header."""
        self.edits += 1
        document = self.of.child(number, header=f"edit-{self.edits}")
        return document, edited_route(number), shows(f"edit-{self.edits}")

    async def seen(
        self,
        request: Request,
        sign: probe.Sign,
        may_be: Iterable[int] = (200,),
        envoy: int = 0,
    ) -> float:
        """When the first answer shows a change; answers before may have these statuses only."""
        connection = Connection(self.ports[envoy])
        try:
            return await probe.observed(connection, request, sign, frozenset(may_be), 0.002)
        finally:
            connection.close()

    async def answer(self, request: Request) -> Answer:
        """Sends a request on a connection of its own; returns the answer."""
        connection = Connection(self.port)
        try:
            return await connection.ask(request)
        finally:
            connection.close()

    async def statuses(self, envoy: int = 0) -> list[int]:
        """The status of one answer of each host."""
        connection = Connection(self.ports[envoy])
        found = [await connection.ask(Request(world.fqdn(it))) for it in range(self.of.hosts)]
        connection.close()
        return [it.status for it in found]

    def load(
        self,
        rate: float,
        hosts: Iterable[int] | None = None,
        path: str = "/",
        envoy: int = 0,
    ) -> Load:
        """A load of requests to these hosts, in turn."""
        numbers = range(self.of.hosts) if hosts is None else hosts
        return Load(self.ports[envoy], [Request(world.fqdn(it), path) for it in numbers], rate)


Control = TypeVar("Control", Fed, Local)


@dataclass(slots=True, kw_only=True)
class Site(Front, Generic[Control]):
    """A world, the instance that serves it, and its Envoy."""

    folder: Path
    control: Control
    envoy: Envoy
    tls_port: int
    documents: dict[tuple[str, ...], Document] = field(default_factory=dict)
    """All objects, by kind, namespace and name."""

    def put(self, *documents: Document) -> None:
        """Records the newest state, for the next start of the instance."""
        self.documents |= {key(it): it for it in documents}

    async def change(self, put: Sequence[Document] = (), gone: Sequence[Document] = ()) -> Took:
        """Applies one event, or several at one moment."""
        self.put(*put)
        for it in gone:
            self.documents.pop(key(it), None)
        return await self.control.change(put, gone)

    async def edit(self, number: int) -> float:
        """Edits a route and waits for an answer that shows it; returns the seconds that took."""
        document, request, sign = self.edited(number)
        took = await self.change([document])
        return await self.seen(request, sign) - took.came

    async def restart(self) -> float:
        """Starts the instance with the recorded state; returns when its port was open."""
        self.control.keep(self.documents.values())
        return await self.control.start()


Kind = Callable[[Path, Iterable[tuple[int, int]]], Control]


@contextlib.asynccontextmanager
async def serving(
    kind: Kind[Control],
    of: World,
    documents: Iterable[Document] | None = None,
    resolver: str = "",
    drain: int = DRAIN_SECONDS,
) -> AsyncIterator[Site[Control]]:
    """Serves a world (or these documents, with its backends).

    Envoy resolves names with the resolver, if there is one.
    """
    with tempfile.TemporaryDirectory(prefix="served-") as path:
        folder, (port, tls_port) = Path(path), free_ports(2)
        control = kind(folder, ((80, port), (443, tls_port)))
        envoy = Envoy(folder, resolver=resolver, drain=drain)
        envoy.configure(control.socket)
        site = Site(
            of=of, ports=[port], folder=folder, control=control, envoy=envoy, tls_port=tls_port
        )
        site.put(*(of.documents() if documents is None else documents))
        try:
            await site.restart()
            await envoy.start()
            yield site
        finally:
            await envoy.end()
            await control.end()


def running(
    of: World, documents: Iterable[Document] | None = None, **more: Any
) -> AbstractAsyncContextManager[Site[Fed]]:
    """The same, with an instance in a process of its own."""
    return serving(Fed, of, documents, **more)


def stage(
    hosts: int, kind: Kind[Control]
) -> Callable[[], AbstractAsyncContextManager[Site[Control]]]:
    """A served world of so many hosts over ten Services, to test faults."""

    @contextlib.asynccontextmanager
    async def staged() -> AsyncIterator[Site[Control]]:
        async with (
            backends(BACKENDS) as ports,
            serving(kind, World(hosts, 10, backends=ports)) as site,
        ):
            yield site

    return staged


def key(document: Document) -> tuple[str, ...]:
    """The kind, namespace and name of a document."""
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def edited_route(number: int) -> Request:
    """A request for the route of a host that is edited."""
    return Request(world.fqdn(number), "/api/v1")


def shows(header: str) -> probe.Sign:
    """Recognizes an answer of a route that was edited with this value."""
    return lambda it: it.headers.get("x-edit") == header


def is_ok(answer: Answer) -> bool:
    """Whether an answer has status 200."""
    return answer.status == 200
