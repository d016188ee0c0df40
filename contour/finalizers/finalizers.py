"""Adds finalizers to Gateways and classes that are served, and removes them, on the leader.

A deleted object is not served from that moment on; its finalizer is removed when the statuses of
all objects that depended on it say so, or after a while. A write is a merge patch with the
resourceVersion of what it was made from, so that no finalizer of others is lost. Nothing depends on
a finalizer being there: who dies between two steps leaves what the next leader puts right. It knows
what the instance has put on classes that are not its own any more by the field manager, for the
finalizer of a class is that of every implementation of the Gateway API. What a process has needed
itself it knows without that: another instance or a restored backup may have put it there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from crds.meta import ObjectRef
from kube import errors
from kube.client import Client
from kube.resources import Resource
from kube.workqueue import BATCH, Requeue, WorkQueue

log = logging.getLogger(__name__)

LONGEST_FAREWELL = 5.0  # seconds that statuses may take; they are told to others, and not to it


class Known(Protocol):
    """An object as it was seen last."""

    @property
    def resource_version(self) -> str: ...
    @property
    def finalizers(self) -> Sequence[str]: ...
    @property
    def is_deleted(self) -> bool: ...
    @property
    def managers(self) -> Collection[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of information when an object is reconciled."""

    finalizer: Callable[[str], str]
    """Ours, by kind."""
    manager: str
    """The field manager of this instance, and of no other."""
    is_serving: Callable[[], bool]
    """While it is not, nothing is known for certain."""
    is_wanted: Callable[[ObjectRef], bool | None]
    """None: it is not for us to say, or not any more."""
    is_served: Callable[[ObjectRef], bool]
    """Whether any instance serves it."""
    known: Callable[[ObjectRef], Known | None]
    everything: Callable[[], Iterable[ObjectRef]]
    concerned: Callable[[ObjectRef], Iterable[ObjectRef]]
    resource: Callable[[str], Resource | None]
    until_statuses_are_written: Callable[[], Awaitable[None]]
    """Waits until statuses are up to date."""


class Finalizers:
    """The finalizers of all objects that may have one of ours."""

    def __init__(self, client: Client, sources: Sources) -> None:
        self._client = client
        self._sources = sources
        self._queue: WorkQueue[ObjectRef] | None = None
        self._held: set[ObjectRef] = set()
        """Those that had to have one in the life of this process, whoever has put it there."""

    def notice(self, subjects: Iterable[ObjectRef]) -> None:
        """Takes objects that have changed, or whose status has."""
        if self._queue is not None:
            for subject in subjects:
                for it in self._sources.concerned(subject):
                    self._queue.add(it, BATCH)

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._queue = queue = WorkQueue[ObjectRef]()
        try:
            for it in self._sources.everything():
                queue.add(it, BATCH)
            await queue.run(self._reconcile)
        finally:
            self._queue = None

    async def _reconcile(self, subject: ObjectRef) -> bool:
        known, resource = self._sources.known(subject), self._sources.resource(subject.kind)
        if known is None:
            self._held.discard(subject)  # another object of that name is not the same
            return False
        if resource is None or not self._sources.is_serving():
            return False
        is_wanted = self._sources.is_wanted(subject)
        if is_wanted is None and self._is_left_behind(subject, known):
            is_wanted = False
        if is_wanted is None:
            return False
        if is_wanted:
            self._held.add(subject)
        own = self._sources.finalizer(subject.kind)
        others = [it for it in known.finalizers if it != own]
        has_it = len(others) < len(known.finalizers)
        if is_wanted == has_it or (is_wanted and known.is_deleted):
            return is_wanted
        if not is_wanted and known.is_deleted:
            await self._farewell()
        path = resource.path(subject.namespace, subject.name)
        await self._write(path, known, [*others, own] if is_wanted else others)
        if not is_wanted:
            self._held.discard(subject)
            _tell(subject, known)
        return is_wanted

    def _is_left_behind(self, subject: ObjectRef, known: Known) -> bool:
        """Whether this instance has put its finalizer there or needed it, and nobody does any
        more."""
        own = self._sources.finalizer(subject.kind)
        is_ours = (own, self._sources.manager) in known.managers
        return (is_ours or subject in self._held) and not self._sources.is_served(subject)

    async def _farewell(self) -> None:
        try:
            async with asyncio.timeout(LONGEST_FAREWELL):
                await self._sources.until_statuses_are_written()
        except TimeoutError:
            return

    async def _write(self, path: str, known: Known, finalizers: list[str]) -> None:
        metadata = {"finalizers": finalizers, "resourceVersion": known.resource_version}
        try:
            params = {"fieldManager": self._sources.manager}
            await self._client.patch(path, {"metadata": metadata}, params=params)
        except errors.Refused as error:
            if error.code == 409:
                raise Requeue("it has changed in the meantime") from error
            if error.code not in _GONE:
                raise


def _tell(subject: ObjectRef, known: Known) -> None:
    if subject.kind == "Gateway" and known.is_deleted:
        log.error(
            "%s was deleted while it was served: its listeners, and routes that are attached to no "
            "other Gateway, were removed from Envoy; the next oldest Gateway is served, if any",
            subject,
        )
    else:
        log.info("removed the finalizer from %s", subject)


_GONE = frozenset({404, 410, 422})  # 422: a deleted object accepts no new finalizer
