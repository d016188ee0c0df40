"""The Kubernetes provider: yields all objects of our kinds in a cluster, then the changes.

For `contour serve`. Every collection is followed by a reflector of its own, so that a fault of one
does not affect the others. All of them write to `objects`, from which the controller takes batches.
A single event is yielded at once; while a batch is being processed, the next one is collected.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import NamedTuple

from contour.events import Batch
from contour.kubernetes import scope
from contour.kubernetes.extensionkinds import ExtensionKinds
from contour.kubernetes.known import Hear, ObservedObject
from contour.kubernetes.objects import Objects
from contour.kubernetes.values import Values
from crds.kinds import IN_CLUSTERS, KINDS, Kind
from crds.meta import NamespacedName, ObjectRef
from kube.client import Client
from kube.discovery import Discovery
from kube.health import State
from kube.reflector import Reflector, Timings
from kube.resources import Resource
from kube.versioncache import Delta

log = logging.getLogger(__name__)


class Collection(NamedTuple):
    """The state of one collection."""

    kind: str
    namespace: str
    """Empty for all namespaces."""
    resource: Resource | None
    """Its resource on this API server; None while it is not served."""
    state: State


class Cluster:
    """The objects of a cluster, or of some of its namespaces."""

    def __init__(
        self,
        client: Client,
        within: scope.Scope | None = None,
        kinds: Iterable[Kind] = IN_CLUSTERS,
        timings: Timings | None = None,
    ) -> None:
        self._objects = Objects()
        self._arrived = asyncio.Event()
        within = within or scope.Scope()
        self._values = Values(client, within, self._reread)
        self._objects.wanted = self._values.wanted
        timings = timings or Timings()
        discovery = Discovery(client, good_for=timings.absent * 2 / 3)

        def made(source: scope.Source) -> Reflector:
            intake = _Intake(source, self._objects, self._values, self._arrived)
            reflector = Reflector(client, discovery, source.collection, intake, timings)
            reflector.on_presence = intake.on_presence
            return reflector

        self.extension_kinds = ExtensionKinds(within, self._objects, made, self._stir)
        """The kinds of objects of extensions."""
        self._followed = [(it, made(it)) for it in scope.sources(within, kinds)]
        self._by_kind: defaultdict[str, list[Reflector]] = defaultdict(list)
        for source, reflector in self._followed:
            self._by_kind[source.kind.kind].append(reflector)

    async def run(self) -> None:
        """Follows every collection. Never ends."""
        async with asyncio.TaskGroup() as tasks:
            for _, reflector in self._followed:
                tasks.create_task(reflector.run())
            tasks.create_task(self._values.run())
            tasks.create_task(self.extension_kinds.run())

    async def initial(self) -> Batch:
        """All objects, as soon as every collection is listed, or known to be unavailable."""
        for _, reflector in self._followed:
            await reflector.settled.wait()
        return self._objects.batch()

    def pending(self) -> Batch:
        """The changes that have not been taken yet."""
        return self._objects.batch()

    async def changes(self) -> AsyncGenerator[Batch, None]:
        """The changes after `initial`."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            batch = self._objects.batch()
            if not batch.is_empty:
                yield batch

    @property
    def has_news(self) -> bool:
        """Whether a change has arrived that nobody has taken yet."""
        return self._arrived.is_set()

    def want(self, secret: NamespacedName, keys: frozenset[str]) -> None:
        """Has the values of these keys of an opaque Secret read, whatever they contain."""
        self._values.want(secret, keys)

    def known(self, ref: ObjectRef) -> ObservedObject | None:
        """The versions and the status of an object, as last seen."""
        return self._objects.statuses.known(ref)

    def finalizers(self, ref: ObjectRef) -> tuple[str, ...]:
        """The finalizers of an object, as last seen."""
        return self._objects.statuses.finalizers(ref)

    def uid(self, ref: ObjectRef) -> str:
        """The uid of an object of any kind, as last seen; empty if it does not exist."""
        return self._objects.uid(ref)

    def subjects(self, kinds: frozenset[str]) -> list[ObjectRef]:
        """Every object of these kinds, also those that cannot be read."""
        return self._objects.statuses.of(kinds)

    def hear(self, hear: Hear) -> None:
        """Sets the callback for objects whose status or finalizers have changed."""
        self._objects.statuses.hear = hear

    def resource(self, kind: str) -> Resource | None:
        """The API resource of a kind, for writes; None while the API server does not serve it."""
        found = (it.resource for it in self._by_kind.get(kind, ()))
        return next((it for it in found if it is not None), None)

    def state(self) -> Iterator[Collection]:
        """The state of each collection, of extensions too."""
        for source, reflector in (*self._followed, *self.extension_kinds.collections()):
            yield Collection(
                source.kind.kind, source.collection.namespace, reflector.resource, reflector.state
            )

    def awaited(self) -> list[str]:
        """The kinds for which `initial` waits."""
        found = {it.kind.kind for it, followed in self._followed if not followed.settled.is_set()}
        return sorted(found)

    def _reread(self, news: Sequence[Delta]) -> None:
        self._objects.take(KINDS["", "Secret"], news)
        self._stir()

    def _stir(self) -> None:
        if self._objects.is_pending:
            self._arrived.set()


class _Intake:
    """Takes what a reflector sees."""

    def __init__(
        self, source: scope.Source, objects: Objects, values: Values, arrived: asyncio.Event
    ) -> None:
        self._kind = source.kind
        self._place = scope.place(source)
        self._objects = objects
        self._values = values
        self._arrived = arrived

    def on_deltas(self, news: Sequence[Delta]) -> None:
        if self._kind.kind == "Secret":
            news = self._values.heard(news)
        self._objects.take(self._kind, news)
        if self._objects.is_pending:
            self._arrived.set()

    def on_presence(self, is_served: bool) -> None:
        """Takes whether the API server has the kind."""
        self._objects.presence(self._kind, is_served=is_served)
        if self._objects.is_pending:
            self._arrived.set()

    def on_error(self, message: str) -> None:
        # At once and not with a batch, because there is no batch before everything has been listed.
        if message:
            log.error("cannot watch %s: %s", self._place, message)
        else:
            log.info("watching %s again", self._place)
        self._objects.trouble(self._place, message)
        self._arrived.set()
