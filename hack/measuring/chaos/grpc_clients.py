"""gRPC clients of two control planes: calls that are lost while these and servers come and go."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from contour.xds.resources import ENDPOINTS
from tests.contour.envoy.grpcclients.plane import (
    Plane,
    bootstrap,
    configuration,
    endpoints,
    plane,
    service,
)
from tests.testbed.figures import Figure
from tests.testbed.grpcpeers import Peer, peer
from tests.testbed.measuring import Options, measures
from tests.testbed.ports import free_ports

PRE_STOP, GRACE = 1.0, 5.0
"""Seconds that a pod waits before it ends, since a client acknowledges endpoints a moment before it
uses them; and seconds in which open calls have to end."""
CLIENTS = 2
"""The number of client processes; each calls the Service of either plane."""
TARGETS = ("xds://a.example/echo.shop", "xds://b.example/echo.shop")


@measures("grpc-clients")
def grpc_clients(options: Options) -> Iterator[Figure]:
    """Servers are replaced one after the other, planes are killed one at a time, and an authority
    is renamed with an alias, while clients call."""
    wanted = options.times(60_000, 2_000)
    found = asyncio.run(_measured(wanted))
    options.note("grpc-clients", calls=found.calls, rounds=found.rounds, errors=found.errors)
    yield Figure("calls", found.calls, "")
    yield Figure("rounds of moves, kills and renames", found.rounds, "")
    yield Figure("failed calls", sum(found.errors.values()), "", 0)
    yield Figure("first call of a new client", 1000 * found.first, "ms", 100)


@dataclass(slots=True)
class _Found:
    calls: int = 0
    rounds: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    first: float = 0.0  # seconds; the quickest: others have met a busy machine

    def add(self, client: Peer) -> None:
        said = client.stop()
        self.errors.update(said.errors)
        self.calls += sum(said.replies.values()) + sum(said.errors.values())


@dataclass(slots=True)
class _World:
    """Servers that replace one another; one at a time takes the calls."""

    servers: Peer
    ports: tuple[int, ...]
    turn: int = 0

    @property
    def port(self) -> int:
        return self.ports[self.turn % len(self.ports)]

    async def replace(self, *planes: Plane) -> None:
        """Lets another server take over: its endpoint is published before the old one is removed,
        and the old server ends when all planes have settled."""
        before, self.turn = self.port, self.turn + 1
        await asyncio.to_thread(self.servers.serve, (str(self.port), self.port))
        for gone in ((), (endpoints("echo", before),)):
            for it in planes:
                it.take(endpoints("echo", self.port), gone=gone)
            for it in planes:
                await _settled(it)
        await asyncio.sleep(PRE_STOP)
        await asyncio.to_thread(self.servers.end, str(before), GRACE)


async def _measured(wanted: int) -> _Found:
    found = _Found()
    with TemporaryDirectory() as folder, ExitStack() as peers:
        world = _World(peers.enter_context(peer()), tuple(free_ports(2)))
        world.servers.serve((str(world.port), world.port))
        where = {name: Path(folder, name) for name in ("a.example", "b.example")}
        known = {name: f"unix:{it}/xds.sock" for name, it in where.items()}
        for path in where.values():
            path.mkdir()
        async with _plane(where, "a.example", world) as first:
            clients = [peers.enter_context(peer(bootstrap(planes=known))) for _ in range(CLIENTS)]
            while found.calls < wanted:
                async with AsyncExitStack() as second:
                    other = await second.enter_async_context(_plane(where, "b.example", world))
                    for it in clients:
                        await asyncio.to_thread(it.start, *TARGETS)
                    await _returned(other)
                    await world.replace(first, other)
                    first.take(configuration("new.example", ["a.example"]))
                    await _settled(first)
                    await world.replace(first, other)
                    first.take(configuration("a.example"))
                # The second plane is gone: clients go on with what they have.
                await _settled(first)
                first.take(service("other"))
                async with _plane(where, "b.example", world) as again:
                    await _returned(again)
                    await world.replace(first, again)
                    for it in clients:
                        await asyncio.to_thread(found.add, it)
                found.rounds += 1
            found.first = await _first_call(known, first)
    return found


async def _settled(of: Plane) -> None:
    await of.until(lambda: of.is_settled)


async def _returned(of: Plane) -> None:
    """Waits until every client has reconnected. While a plane is away, no server is replaced,
    because its clients would not learn of that."""

    def is_so() -> bool:
        asked = [it for it in of.streams if ENDPOINTS in it.subscriptions]
        return len(asked) >= CLIENTS and of.is_settled

    await of.until(is_so)


async def _first_call(known: dict[str, str], plane: Plane) -> float:
    times: list[float] = []
    for _ in range(3):
        with peer(bootstrap(planes=known)) as client:
            times.append((await plane.asked(client.call, TARGETS[0])).first)
    return min(times)


@asynccontextmanager
async def _plane(where: dict[str, Path], name: str, world: _World) -> AsyncIterator[Plane]:
    given = configuration(name), service("echo"), endpoints("echo", world.port)
    async with plane(where[name], *given) as made:
        yield made
