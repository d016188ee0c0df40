"""Replicas of one instance in this process: each with its graph, its port and its Envoys."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from contour.envoyreports import FleetReports, RefusedObjects, collector, reporting
from contour.xds import credentials
from contour.xds.envoy import Patience
from contour.xds.server import Server
from dag import refusals
from dag.engine.incremental import Engine
from dag.engine.view import Plan
from tests.testbed import certificates

FLEET = "web"
NAME = "contour"  # in the certificates of the control plane
QUICK = collector.Timeouts(silence=1.0, grace=0.05, assembly=0.1)


class Signal:
    """An address that changes, as a Lease tells it; and whether something came true."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._news = asyncio.Event()

    def tell(self, address: str | None) -> None:
        self._address = address
        self._news.set()

    async def addresses(self) -> AsyncIterator[str | None]:
        while True:
            yield self._address
            await self._news.wait()
            self._news.clear()


@dataclass
class Replica:
    """One control plane; `engine` is its graph, or what stands for one."""

    name: str
    server: Server
    engine: Engine
    collector: collector.Collector
    reporter: reporting.Reporter
    leader: Signal = field(default_factory=Signal)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    reports: FleetReports = field(init=False)  # of the fleet that was heard last

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.ports[0]}"

    def hear(self, fleet: str = FLEET) -> FleetReports:
        """Listens to the Envoys of a fleet, here and on the other replicas."""
        served = self.server.fleet(fleet)
        reports = FleetReports(
            *(fleet, RefusedObjects(self.engine), self.stirred.set),
            lambda it: not served.acceptance.is_pending(it),
            served.acceptance,
        )
        served.observer = reports
        self.collector.add(reports)
        self.reporter.add(reports)
        self.reports = reports
        return reports

    async def until(self, is_so: Callable[[], object], seconds: float = 30.0) -> None:
        """Waits until something is true of the graph."""
        async with asyncio.timeout(seconds):
            while not is_so():
                await self.stirred.wait()
                self.stirred.clear()

    def row(self, table: Any, key: Any = FLEET) -> Any:
        return self.engine.row(table, key)

    def envoys(self, fleet: str = FLEET) -> Any:
        return self.row(refusals.ENVOYS, fleet)


@dataclass
class Instance:
    """What the replicas of one instance share: an authority, and who leads."""

    folder: Path
    authority: certificates.Pair

    def files(self, *names: str) -> credentials.Files:
        """A certificate of these names."""
        folder = self.folder / "-".join(names)
        folder.mkdir(exist_ok=True)
        pair = certificates.issued(self.authority, *names)
        return credentials.Files(*certificates.write(pair, self.authority, folder))

    @asynccontextmanager
    async def replica(
        self, name: str, build: str = "1", engine: Engine | None = None
    ) -> AsyncIterator[Replica]:
        """A replica that serves, and reports to the leader it is told of."""
        files = self.files(NAME)
        socket = f"unix:{self.folder}/{name}"
        server = Server(("127.0.0.1:0", socket), Patience(absence=0.1, grace=0.05), tls=files)
        server.fallback = FLEET
        taking = collector.Collector(frozenset({NAME}), build, QUICK)
        server.services = (taking.service(),)
        made = partial(credentials.client, files)
        timings = reporting.Timings(alive=0.2, shortest=0.02, longest=0.2)
        telling = reporting.Reporter(name, build, made, NAME, timings)
        it = Replica(name, server, engine or Engine(Plan()), taking, telling)
        await server.start()
        telling.address = it.address
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(telling.follow(it.leader.addresses()))
            try:
                yield it
            finally:
                following.cancel()
                taking.resign()
                await server.stop(0)

    def credentials(self, *names: str) -> grpc.ChannelCredentials:
        return credentials.client(self.files(*names))


def instance(folder: Path) -> Instance:
    return Instance(folder, certificates.authority())


@asynccontextmanager
async def all_of(
    made: Iterable[AbstractAsyncContextManager[Replica]],
) -> AsyncIterator[list[Replica]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(it) for it in made]
