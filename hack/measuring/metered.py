"""The product's instance without sockets: the cost of turning events into bytes.

It has a meter and one client that has everything. The meter counts the rules that ran, the reads
that were compared, and what was published with its size.
"""

import asyncio
import dataclasses
import gc
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from contour.events import Batch
from contour.instance import Instance
from contour.process import without_collections
from contour.xds import resources
from contour.xds.server import Server
from dag import ratelimitclient
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from hack.measuring.subscriber import Subscriber
from tests.testbed import world
from tests.testbed.world import Document


@dataclass(slots=True)
class Work:
    """The work of one change, all of which must be independent of the size of the world."""

    runs: int = 0
    checks: int = 0
    woken: int = 0
    parts: int = 0  # of xDS resources, published
    hashed: int = 0  # bytes of these parts
    sent: int = 0  # bytes on the wire to one Envoy
    seconds: float = 0.0

    def __sub__(self, other: "Work") -> "Work":
        return Work(
            *(getattr(self, it.name) - getattr(other, it.name) for it in dataclasses.fields(self))
        )


@dataclass(slots=True, eq=False)
class Metered(Instance):
    """An instance with a meter, and a client once it is connected."""

    _work: Work = field(default_factory=Work)
    _subscriber: Subscriber | None = None

    async def connect(self) -> None:
        """Connects a client, which takes everything. Existing objects are exempt from garbage
        collection afterwards."""
        self.controller.settle()  # work that the first build left
        self._subscriber = Subscriber(self.server.fleet(DEFAULT_FLEET))
        self._work.sent += self._subscriber.start()
        await asyncio.sleep(0)  # effects of its acknowledgement
        gc.collect()
        gc.freeze()

    @property
    def parts(self) -> int:
        """How many parts of xDS resources were published so far."""
        return self._work.parts

    async def change(self, batch: Batch) -> Work:
        """Applies one change until its first bytes could be sent, and then everything that follows
        it."""
        assert self._subscriber is not None
        before = self._measured(0.0)
        start = time.perf_counter()
        self.take(batch)
        message = self._subscriber.pull()
        seconds = time.perf_counter() - start
        self._work.sent += self._subscriber.accept(message)
        await asyncio.sleep(0)
        return self._measured(seconds) - before

    def _publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        published = list(changes)
        self._work.parts += len(published)
        self._work.hashed += sum(len(it.value.body) for it in published if it.value is not None)
        Instance._publish(self, fleet, published)

    def _measured(self, seconds: float) -> Work:
        engine = self.controller.engine.work
        counts = {it: getattr(engine, it) for it in ("runs", "checks", "woken")}
        return dataclasses.replace(self._work, **counts, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Built:
    """The time of the first build, in seconds, and the bytes that it made."""

    decoding: float
    building: float
    size: int


def built(documents: Iterable[Document]) -> tuple[Metered, Built]:
    """An instance after the first build of a world."""
    decoding = time.perf_counter()
    found = world.batch(*documents)
    start = time.perf_counter()
    with without_collections():
        instance = Metered(Server(()))
        instance.controller.use_host_ports(HostPorts())
        instance.controller.engine.write(ratelimitclient.SOCKET, (), ratelimitclient.SOCKET_NAME)
        instance.take(found)
        types = instance.server.fleet(DEFAULT_FLEET).store.types.values()
        size = sum(len(it.body()) for found in types for it in found.values())
    return instance, Built(start - decoding, time.perf_counter() - start, size)
