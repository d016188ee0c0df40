"""Manifests as text, and a follower of the provider that tests can wait on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from contour import files
from contour.complaints import Complaint, Subject
from contour.events import Batch, Event
from crds.meta import NamespacedName


def proxy(name: str, fqdn: str = "example.com", namespace: str = "default") -> str:
    return f"""apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata:
  name: {name}
  namespace: {namespace}
spec:
  virtualhost:
    fqdn: {fqdn}
  routes:
  - services:
    - name: web
      port: 80
"""


def stream(*documents: str) -> str:
    return "---\n".join(documents)


BROKEN = "kind: HTTPProxy\n  metadata: [\n"
"""Nobody can tell which object this is."""


def broken(name: str) -> str:
    """An HTTPProxy that cannot be parsed but that can be recognised."""
    return proxy(name) + "  routes: [\n"


class Follower:
    """What a consumer knows: the objects by name, every event, and the complaints that are left."""

    def __init__(self) -> None:
        self.fqdns: dict[str, str] = {}
        self.events: list[Event] = []
        self.complaints: dict[Subject, Sequence[Complaint]] = {}
        self.healed: list[str] = []
        self.batches = 0
        self._changed = asyncio.Condition()

    def take(self, batch: Batch) -> None:
        assert not batch.is_empty
        self.batches += 1
        self.events += batch.events
        for event in batch.events:
            self._apply(event.key, event)
        self.healed += batch.healed
        for subject, complaints in batch.complaints.items():
            self.complaints.pop(subject, None)
            if complaints:
                self.complaints[subject] = complaints

    def _apply(self, key: NamespacedName, event: Event) -> None:
        if event.object is None:
            del self.fqdns[key.name]
        else:
            is_proxy = event.kind.kind == "HTTPProxy"
            self.fqdns[key.name] = event.object.spec.virtualhost.fqdn if is_proxy else ""

    @property
    def gone(self) -> list[str]:
        return [event.key.name for event in self.events if event.object is None]

    @property
    def messages(self) -> list[str]:
        return [it.message for complaints in self.complaints.values() for it in complaints]

    async def follow(self, manifests: files.Manifests) -> None:
        async for batch in manifests.changes():
            async with self._changed:
                self.take(batch)
                self._changed.notify_all()

    async def until(self, is_reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(is_reached)


@asynccontextmanager
async def following(*paths: Path) -> AsyncIterator[Follower]:
    """Everything is read; what changes from here on is followed."""
    manifests, follower = files.Manifests(paths), Follower()
    first = manifests.read()
    if not first.is_empty:
        follower.take(first)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follower.follow(manifests))
        yield follower
        task.cancel()
