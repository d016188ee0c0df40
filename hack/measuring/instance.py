"""The control plane in this process, without sockets: what it costs to turn events into bytes.

The wiring is the product's own (`contour.controller`); here it only gets a meter: how many rules
ran, how many reads were compared, what was published and how large.
"""

import dataclasses
import gc
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contour.controller import Controller
from contour.events import Batch, Event
from contour.xds import resources
from contour.xds.fleet import Fleet
from crds.decode import Decoded, decode
from dag.listeners import DEFAULT_FLEET
from dag.ports import HostPorts
from hack.measuring.subscriber import Subscriber
from hack.measuring.world import Document

TICK = 10.0
"""Longer than any wait inside the protocol."""


@dataclass(slots=True)
class Work:
    """What one change took; all of it must be independent of the size of the world."""

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


class Instance:
    """A controller, its fleet, and one client that has everything."""

    def __init__(self) -> None:
        self.fleet = Fleet(DEFAULT_FLEET)
        self.controller = Controller(self._publish)
        self.controller.bind(HostPorts())
        self._work = Work()
        self._subscriber: Subscriber | None = None

    def take(self, batch: Batch) -> None:
        """One step of the controller."""
        self.controller.take(batch)

    def connect(self) -> None:
        """A client comes and takes all there is. What there is now, stays: no collection of it."""
        self.controller.settle()  # what the first build left to be done
        self._subscriber = Subscriber(self.fleet)
        self._work.sent += self._subscriber.start()
        gc.collect()
        gc.freeze()

    def change(self, batch: Batch) -> Work:
        """One change until its first bytes could go out; then everything that follows it."""
        assert self._subscriber is not None
        before = self._measured(0.0)
        start = time.perf_counter()
        self.take(batch)
        message = self._subscriber.pull()
        seconds = time.perf_counter() - start
        self._work.sent += self._subscriber.accept(message)
        return self._measured(seconds) - before

    def bodies(self) -> Iterator[bytes]:
        """The bytes of every resource, joined."""
        for found in self.fleet.store.types.values():
            for it in found.values():
                yield it.body()

    def _publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        published = list(changes)
        self._work.parts += len(published)
        self._work.hashed += sum(len(it.value.body) for it in published if it.value is not None)
        if fleet == self.fleet.name:
            self.fleet.publish(published)

    def _measured(self, seconds: float) -> Work:
        engine = self.controller.engine.work
        return dataclasses.replace(
            self._work,
            runs=engine.runs,
            checks=engine.checks,
            woken=engine.woken,
            seconds=seconds,
        )


def events(documents: Iterable[Document]) -> list[Event]:
    """The documents, decoded as a provider would; in a world there is nothing to complain of."""
    found = []
    for document in documents:
        decoded = decode(document)
        if not isinstance(decoded, Decoded) or decoded.object is None:
            raise ValueError(f"the world holds a bad object: {decoded}")
        found.append(Event(decoded.kind, decoded.key, decoded.object))
    return found


def batch(*documents: Document) -> Batch:
    """All of these at one moment."""
    return Batch(tuple(events(documents)), {})


def removal(*documents: Document) -> Batch:
    """All of these are gone."""
    return Batch(tuple(it._replace(object=None) for it in events(documents)), {})


def resident(pid: int | str = "self", field: str = "VmRSS") -> float:
    """Memory of a process in MiB; `VmHWM` is the most it ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(f"no {field} of process {pid}")


def built(documents: Iterable[Document]) -> tuple[Instance, dict[str, Any]]:
    """An instance with a whole world in it, and what that took."""
    decoding = time.perf_counter()
    found = Batch(tuple(events(documents)), {})
    start = time.perf_counter()
    gc.disable()
    try:
        instance = Instance()
        instance.take(found)
        size = sum(map(len, instance.bodies()))
    finally:
        gc.enable()
    end = time.perf_counter()
    told = {"decoding": start - decoding, "building": end - start, "bytes": size}
    return instance, told
