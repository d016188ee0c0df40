"""All fleets of an instance, while it leads: whose turn it is, and what is told of them.

A fleet has its turn when it is to be otherwise, when something of it has changed in the cluster,
and again when something is left to be done. Whether fleets are kept at all, and in which namespaces
they may be, is asked again with every change: with another answer, everything is looked at anew,
after what nobody asks for any more is gone. That is removed only while all Gateways are known for
certain.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from contour.infrastructure import children, desired
from contour.infrastructure.children import Reach
from contour.infrastructure.desired import SHARED, Key, Release
from contour.infrastructure.keeping import FleetReconciler, Wanted
from crds.raw import at
from dag.fleets import Fleet, FleetProblem
from kube import errors
from kube.client import Client
from kube.workqueue import BATCH, Requeue, WorkQueue
from provisioning.templating import Document

_BROKEN = FleetProblem("the fleet is not kept, because of an error that the log has")


class Instance(Protocol):
    """What is asked of whoever knows the graph."""

    def fleets(self) -> Mapping[str, Fleet]:
        """What there is to be, by name; empty while there is no configuration."""
        ...

    def reach(self) -> Reach | None:
        """Where objects of fleets may be; None: nothing is kept."""
        ...

    def knows_gateways(self) -> bool:
        """Whether a Gateway that is not among them is gone."""
        ...

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        """What is not as it should be with a fleet."""
        ...

    def set_entrance(self, fleet: str, entrance: Document | None) -> None:
        """What clients come in by, a Service or a Gateway, as it is now; None if there is none."""
        ...

    def forget(self, fleet: str) -> None:
        """Nothing is known of a fleet any more: it is not for us to keep."""
        ...


class Infrastructure:
    """What the leader does for fleets."""

    def __init__(self, client: Client, release: Release, instance: Instance) -> None:
        self._client = client
        self._release = release
        self._instance = instance
        self._news = asyncio.Event()
        self._term: _Term | None = None

    def notice(self) -> None:
        """Fleets are to be otherwise, or are not to be any more."""
        self._news.set()
        if self._term is not None:
            self._term.refresh()

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        while True:
            self._news.clear()
            reach = self._instance.reach()
            if reach is None:
                await self._news.wait()
                continue
            self._term = term = _Term(self._client, self._release, self._instance, reach)
            try:
                async with asyncio.TaskGroup() as group:
                    work = group.create_task(term.run(self._news.set))
                    await self._changed(term, reach)
                    work.cancel()
            finally:
                self._term = None

    async def _changed(self, term: "_Term", reach: Reach) -> None:
        """Returns when fleets may be elsewhere, or are not kept any more, and nothing is left to be
        removed where they were."""
        while self._instance.reach() == reach or term.has_strays:
            self._news.clear()
            await self._news.wait()


class _Term:
    """As long as fleets may be in the same namespaces."""

    def __init__(self, client: Client, release: Release, instance: Instance, reach: Reach) -> None:
        self._release = release
        self._instance = instance
        own = release.ownership
        self._children = children.followed(client, own, reach, self._on_change)
        self._queue = WorkQueue[Key]()
        self._reconciler = FleetReconciler(client, release, self._children, self._queue.add)
        self._wanted: dict[Key, Wanted] = {}
        self._known: frozenset[Key] = frozenset()
        self._removed: Callable[[], None] = lambda: None

    @property
    def has_strays(self) -> bool:
        """There is something of fleets that are not to be any more."""
        return any(it not in self._known for it in self._children if it.gateway != SHARED)

    async def run(self, removed: Callable[[], None]) -> None:
        """Never ends. Tells whenever nothing is left of a fleet."""
        self._removed = removed
        async with asyncio.TaskGroup() as group:
            group.create_task(self._children.run())
            await self._children.synced()
            self.refresh()
            for key in self._children:
                self._queue.add(key)
            group.create_task(self._queue.run(self._reconcile))

    def refresh(self) -> None:
        """Fleets are to be otherwise."""
        before = self._wanted
        every = {
            desired.key(self._release, it.gateway): Wanted(name, it)
            for name, it in self._instance.fleets().items()
        }
        self._known = frozenset(every)
        self._wanted = {key: it for key, it in every.items() if it.fleet.is_managed}
        for key in before.keys() - self._wanted.keys():
            self._instance.forget(before[key].name)
        for key in before.keys() | self._wanted.keys():
            if before.get(key) != self._wanted.get(key):
                self._queue.add(key)

    def _on_change(self, key: Key) -> None:
        self._queue.add(key, BATCH)

    async def _reconcile(self, key: Key) -> bool:
        wanted = self._wanted.get(key)
        if wanted is None:
            return await self._end(key)
        try:
            found = await self._reconciler.keep(key, wanted)
        except errors.RequestError:
            raise  # it is asked again, and the log says why
        except Exception:
            self._instance.tell(wanted.name, (_BROKEN,))
            raise
        if self._wanted.get(key) != wanted:
            return True  # it is in the queue again, or nobody wants to know
        self._instance.tell(wanted.name, found)
        self._instance.set_entrance(wanted.name, self._entrance(key, wanted))
        if unfinished := [it.message for it in found if not it.is_settled]:
            raise Requeue("; ".join(unfinished))
        return True

    async def _end(self, key: Key) -> bool:
        """What is not to be is removed; what is not for us to keep any more stays as it is."""
        if key.gateway == SHARED or key in self._known or not self._children.of(key):
            self._removed()
            return False
        if not self._instance.knows_gateways():
            raise Requeue("not all Gateways are known")
        found = await self._reconciler.remove(key)
        if found:
            raise Requeue("; ".join(it.message for it in found))
        return bool(self._children.of(key))

    def _entrance(self, key: Key, wanted: Wanted) -> Document | None:
        name, publishing = desired.called(self._release, wanted.fleet).name, wanted.fleet.publishing
        kind = "Gateway" if publishing is not None and publishing.gateway else "Service"
        for it in self._children.of(key).values():
            if it["kind"] == kind and at(it, "metadata", "name") == name:
                return it
        return None
