"""Reconciles all fleets of an instance, while this replica leads.

A fleet is reconciled when the wanted fleet or its objects in the cluster have changed, and again
while something is unfinished. With every change, it is checked whether fleets are kept at all, and
in which namespaces they may be; if that has changed, everything starts anew after unwanted fleets
have been removed. They are removed only while all Gateways are known for certain.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from contour.infrastructure import children, desired
from contour.infrastructure.children import FleetScope
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
    """What the graph knows about fleets (`contour.fleetstatus`)."""

    def fleets(self) -> Mapping[str, Fleet]:
        """The wanted fleets, by name; empty while there is no configuration."""
        ...

    def scope(self) -> FleetScope | None:
        """Where objects of fleets may be; None: nothing is kept."""
        ...

    def knows_gateways(self) -> bool:
        """Whether a Gateway that the graph does not know is certainly gone."""
        ...

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        """Takes the problems of a fleet."""
        ...

    def set_entrance(self, fleet: str, entrance: Document | None) -> None:
        """Takes the Service or Gateway by which clients reach a fleet, as it is now; None if there
        is none."""
        ...

    def forget(self, fleet: str) -> None:
        """Forgets a fleet that is no longer kept."""
        ...


class Infrastructure:
    """Keeps the fleets, on the leader."""

    def __init__(self, client: Client, release: Release, instance: Instance) -> None:
        self._client = client
        self._release = release
        self._instance = instance
        self._news = asyncio.Event()
        self._term: _Term | None = None

    def notice(self) -> None:
        """The wanted fleets may have changed."""
        self._news.set()
        if self._term is not None:
            self._term.refresh()

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        while True:
            self._news.clear()
            scope = self._instance.scope()
            if scope is None:
                await self._news.wait()
                continue
            self._term = term = _Term(self._client, self._release, self._instance, scope)
            try:
                async with asyncio.TaskGroup() as group:
                    work = group.create_task(term.run(self._news.set))
                    await self._changed(term, scope)
                    work.cancel()
            finally:
                self._term = None

    async def _changed(self, term: "_Term", scope: FleetScope) -> None:
        """Returns when the scope has changed, and nothing is left to be removed in the former
        one."""
        while self._instance.scope() == scope or term.has_strays:
            self._news.clear()
            await self._news.wait()


class _Term:
    """The work for as long as the scope stays the same."""

    def __init__(
        self, client: Client, release: Release, instance: Instance, scope: FleetScope
    ) -> None:
        self._release = release
        self._instance = instance
        own = release.ownership
        self._children = children.followed(client, own, scope, self._on_change)
        self._queue = WorkQueue[Key]()
        self._reconciler = FleetReconciler(client, release, self._children, self._queue.add)
        self._wanted: dict[Key, Wanted] = {}
        self._known: frozenset[Key] = frozenset()
        self._removed: Callable[[], None] = lambda: None

    @property
    def has_strays(self) -> bool:
        """Whether there are objects of fleets that are no longer wanted."""
        return any(it not in self._known for it in self._children if it.gateway != SHARED)

    async def run(self, removed: Callable[[], None]) -> None:
        """Never ends. Calls `removed` whenever nothing is left of a fleet."""
        self._removed = removed
        async with asyncio.TaskGroup() as group:
            group.create_task(self._children.run())
            await self._children.synced()
            self.refresh()
            for key in self._children:
                self._queue.add(key)
            group.create_task(self._queue.run(self._reconcile))

    def refresh(self) -> None:
        """Updates the wanted fleets."""
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
            raise  # it is retried, and the log says why
        except Exception:
            self._instance.tell(wanted.name, (_BROKEN,))
            raise
        if self._wanted.get(key) != wanted:
            return True  # it is in the queue again, or no longer wanted
        self._instance.tell(wanted.name, found)
        self._instance.set_entrance(wanted.name, self._entrance(key, wanted))
        if unfinished := [it.message for it in found if not it.is_settled]:
            raise Requeue("; ".join(unfinished))
        return True

    async def _end(self, key: Key) -> bool:
        """Removes a fleet that is no longer wanted; one that was handed over stays."""
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
