"""Reads EnvoyConfigs and their revisions in the namespaces that the configuration names.

It runs on every replica; without `spec.discovery` nothing is read. Nothing of these namespaces is
served before both kinds are listed, so that revisions that Envoys have refused are known. The
revisions of an EnvoyConfig become one row of the graph, from the objects that have our labels;
others belong to another controller and are left alone.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from contour.complaints import Subject
from contour.discovery import documents
from contour.discovery.documents import KIND, Stored
from contour.events import Batch, Event
from contour.instance import Instance
from contour.kubernetes.cluster import Cluster, Collection
from contour.kubernetes.known import ObservedObject
from contour.kubernetes.scope import Scope
from contour.rawconfig import reading
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.kinds import ASKED_FOR, KINDS, Kind
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import READINGS, Unread
from dag.rawconfig.revisions import Revision
from kube.client import Client
from kube.resources import Resource
from provisioning.keeping import ownership

_OWNER = KINDS[KIND.group, "EnvoyConfig"]


def _nobody(_: NamespacedName) -> None:
    """Does nothing, where there is no consumer."""


def _not_heard(_: ObjectRef) -> None:
    """Does nothing, where there is no consumer."""


class Seen(Protocol):
    """The objects of the API server, as last seen; `contour.kubernetes.cluster`."""

    def known(self, ref: ObjectRef) -> ObservedObject | None: ...

    def subjects(self, kinds: frozenset[str]) -> list[ObjectRef]: ...

    def resource(self, kind: str) -> Resource | None: ...

    def state(self) -> Iterator[Collection]: ...


class _Kept(NamedTuple):
    """A revision that is served here but has no object."""

    revision: Revision
    was_object: bool
    """Whether its object was deleted or edited; otherwise none has been seen yet."""

    def is_over(self, stored: Sequence[Stored], newest: str) -> bool:
        """Whether this replica must stop serving it, because the leader may do without it: the
        leader has published another revision instead of making it again; or it never saw this
        content, and the newest object already has the version that is written now (`newest`)."""
        if self.was_object:
            return any(it.says(documents.PUBLISHED) for it in stored)
        return bool(stored) and stored[-1].version == newest


@dataclass(slots=True, eq=False)
class Following:
    """The EnvoyConfigs and their revisions, as last seen."""

    client: Client
    instance: Instance
    mark: Mapping[str, str]
    """The labels of the objects that are ours."""
    on_change: Callable[[NamespacedName], None] = _nobody
    """Takes an EnvoyConfig whose revisions may have to be written."""
    on_object: Callable[[ObjectRef], None] = _not_heard
    """Takes an EnvoyConfig whose version or status has changed on the API server."""
    namespaces: tuple[str, ...] = ()
    """The namespaces whose EnvoyConfigs are read; empty: none."""
    cluster: Seen | None = None
    _begun: Seen | None = None  # the same from the first request on, before everything is listed
    _turned: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _applied: dict[NamespacedName, ObservedObject] = field(default_factory=dict)
    # The versions of the revisions that the rows contain.
    _foreign: dict[str, set[NamespacedName]] = field(default_factory=dict)
    _objects: dict[NamespacedName, EnvoyConfigRevision] = field(default_factory=dict)
    _contents: dict[NamespacedName, Unread | None] = field(default_factory=dict)
    _of: dict[NamespacedName, set[NamespacedName]] = field(default_factory=dict)
    _complained: set[Subject] = field(default_factory=set)
    # Collections that cannot be read.
    _kept: dict[NamespacedName, _Kept] = field(default_factory=dict)
    # By EnvoyConfig.
    _dirty: set[NamespacedName] = field(default_factory=set)
    _soon: asyncio.Handle | None = None

    def configure(self, namespaces: tuple[str, ...]) -> None:
        """Reads these namespaces from now on."""
        if namespaces != self.namespaces:
            self.namespaces = namespaces
            self._turned.set()

    async def run(self) -> None:
        """Follows the configured namespaces. Never ends."""
        following: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._turned.wait()
                self._turned.clear()
                if following is not None:
                    following.cancel()
                    await asyncio.wait((following,))
                self._leave()
                if self.namespaces:
                    following = tasks.create_task(self._follow(self.namespaces))

    def known(self, ref: ObjectRef) -> ObservedObject | None:
        """The versions and the status of an object, as last seen."""
        return self.cluster.known(ref) if self.cluster is not None else None

    def of(self, owner: NamespacedName) -> list[Stored]:
        """The revisions of an EnvoyConfig, the newest last."""
        found = filter(None, map(self._stored, self._of.get(owner, ())))
        return sorted(found, key=lambda it: (it.sequence, it.key))

    def owners(self) -> set[NamespacedName]:
        """Every EnvoyConfig that exists or has revisions."""
        there = self.cluster.subjects(frozenset({_OWNER.kind})) if self.cluster is not None else ()
        return {it.key for it in there} | self._of.keys()

    def foreign(self, namespace: str) -> bool:
        """Whether a namespace has revisions without our labels."""
        return bool(self._foreign.get(namespace))

    def resource(self, kind: str) -> Resource | None:
        """The API resource of a kind, for writes; None while it is not followed."""
        return self.cluster.resource(kind) if self.cluster is not None else None

    def state(self) -> Iterator[Collection]:
        """How each of the collections is doing, also while the first list is under way."""
        found = self._begun if self.cluster is None else self.cluster
        if found is not None:
            yield from found.state()

    def applied(self, key: NamespacedName) -> ObservedObject | None:
        """A revision in the version that the graph knows; None if it is gone."""
        return self._applied.get(key)

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Waits until the condition is true, which is checked with each change. Returns False after
        so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def _follow(self, namespaces: tuple[str, ...]) -> None:
        self._begun = cluster = Cluster(self.client, Scope(namespaces=namespaces), ASKED_FOR)
        cluster.hear(self.hear)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cluster.run())
            self.begin(cluster, await cluster.initial())
            async for batch in cluster.changes():
                self.take(batch)

    def begin(self, cluster: Seen, first: Batch) -> None:
        """Takes everything that exists at the start."""
        self.cluster = cluster
        self.take(first._replace(events=(*self._vanished(cluster), *first.events)))

    def _rows(self) -> Iterator[tuple[Kind, NamespacedName]]:
        engine = self.instance.controller.engine
        for kind in (_OWNER, KIND):
            for key, _ in engine.rows(tables.BY_KIND[kind.kind]):
                yield kind, key

    def _leave(self) -> None:
        """Forgets everything outside the namespaces that are read."""
        self.cluster = self._begun = None
        left = [(kind, key) for kind, key in self._rows() if key.namespace not in self.namespaces]
        over, self._complained = dict.fromkeys(self._complained, ()), set()
        if left or over:
            gone = tuple(Event(kind, key, None) for kind, key in left)
            self.take(Batch(gone, over, ()))

    def _vanished(self, cluster: Seen) -> Iterator[Event]:
        """The objects that have gone while they were not followed."""
        for kind, key in [*self._rows()]:
            if cluster.known(ObjectRef(kind.kind, *key)) is None:
                yield Event(kind, key, None)

    def hear(self, ref: ObjectRef) -> None:
        """Takes an object whose version or status has changed."""
        if ref.kind != KIND.kind:
            self.on_object(ref)
            return
        self._dirty.add(ref.key)
        if self._soon is None and self.cluster is not None:
            self._soon = asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._soon = None
        if self._write_rows():
            self.instance.controller.settle()

    def take(self, batch: Batch) -> None:
        """Takes what has changed of EnvoyConfigs and revisions."""
        for kind, key, found in batch.events:
            if kind.kind == KIND.kind:
                self._note(key, found if isinstance(found, EnvoyConfigRevision) else None)
        for kind, key, _ in batch.events:
            if kind.kind == _OWNER.kind:
                self._keep_unseen(key)
        for place, told in batch.complaints.items():
            if not isinstance(place, ObjectRef):
                (self._complained.add if told else self._complained.discard)(place)
        self._write_rows()
        self.instance.take(batch)
        for kind, key, _ in batch.events:
            if kind.kind == _OWNER.kind:
                self._write_row(key)  # whose uid is known now
                self.on_change(key)
        self.instance.controller.settle()

    def _note(self, key: NamespacedName, found: EnvoyConfigRevision | None) -> None:
        self._dirty.add(key)
        before, was = self._objects.pop(key, None), self._contents.pop(key, None)
        if key in self._foreign.get(key.namespace, ()):
            self._foreign[key.namespace].discard(key)
            for owner in self.owners():
                self.on_change(owner)
        if found is None:
            if before is not None and self._is_ours(before):
                self._keep_served(_owner(before), was)
                self._miss(key, before)
            return
        self._objects[key] = found
        if self._is_ours(found):
            self._contents[key] = content = reading.unread(found)
            if content is None:
                self._keep_served(_owner(found), was)
            self._of.setdefault(_owner(found), set()).add(key)
        else:
            self._foreign.setdefault(key.namespace, set()).add(key)
            self.on_change(_owner(found))

    def _miss(self, key: NamespacedName, before: EnvoyConfigRevision) -> None:
        """Handles a deleted revision: the reports about it no longer count."""
        owner, version = _owner(before), before.spec.version
        reports = self.instance.node_reports.get(NodeKey(key.namespace, before.spec.node_id))
        if reports is not None:
            reports.forget_version(version)
        self._of[owner].discard(key)
        if not self._of[owner]:
            del self._of[owner]
        self._write_row(owner)

    def _keep_served(self, owner: NamespacedName, gone: Unread | None) -> None:
        """A revision whose object is deleted, or edited, stays if it is served."""
        there = self.known(ObjectRef(_OWNER.kind, *owner))
        if gone is not None and there is not None and self._served(owner) == gone.version:
            self._kept[owner] = _Kept(Revision(gone), was_object=True)

    def _keep_unseen(self, owner: NamespacedName) -> None:
        """An EnvoyConfig is served before the object of its revision is seen. If its content
        changes before that, the former content stays a revision, because the new one may be
        refused."""
        engine = self.instance.controller.engine
        config, read = engine.row(tables.ENVOY_CONFIGS, owner), engine.row(READINGS, owner)
        served, present = self._served(owner), self.of(owner)
        if config is None or read is None or read.content is None or read.version != served:
            return
        if all(it.version != served for it in present):
            place = max((it.sequence for it in present), default=0) + 1
            unseen = documents.unseen(config, served, place, self.mark)
            revision = Revision(Unread(read.node, served, unseen))
            self._kept[owner] = _Kept(revision, was_object=False)
            self._write_row(owner)

    def _served(self, owner: NamespacedName) -> str:
        """The version of an EnvoyConfig that is served; empty if none is."""
        choice = self.instance.controller.engine.answer(revisions.choice, owner)
        published = choice.published if choice is not None else None
        return published.version if published is not None else ""

    def _write_rows(self) -> bool:
        """Writes the rows that have changed. Returns whether there were any."""
        dirty, self._dirty = self._dirty, set()
        owners: set[NamespacedName] = set()
        for key in dirty:
            known = self.known(documents.ref(key))
            if known is None:
                self._note(key, None)
                self._applied.pop(key, None)
            else:
                self._applied[key] = known
                owners |= {_owner(it) for it in (self._objects.get(key),) if it is not None}
        self._dirty.clear()
        for owner in owners:
            self._write_row(owner)
        self._news.set()
        self._news = asyncio.Event()
        return bool(dirty)

    def _write_row(self, owner: NamespacedName) -> None:
        there = self.known(ObjectRef(_OWNER.kind, *owner))
        if there is None:
            self._kept.pop(owner, None)
        stored = [it for it in self.of(owner) if there is not None and it.owner_uid == there.uid]
        row = self._with_kept(owner, documents.counting(stored, self._served(owner)))
        self.instance.controller.engine.write(revisions.HISTORY, owner, row or None)
        self.on_change(owner)

    def _with_kept(self, owner: NamespacedName, stored: Sequence[Stored]) -> tuple[Revision, ...]:
        found = [it for it in map(documents.revision, stored) if it is not None]
        kept = self._kept.pop(owner, None)
        read = self.instance.controller.engine.row(READINGS, owner)
        newest = read.version if read is not None and read.content is not None else ""
        sound = [it for it in stored if it.content is not None]
        if kept is None or kept.is_over(sound, newest):
            return tuple(found)
        if all(it.content.version != kept.revision.content.version for it in found):
            self._kept[owner] = kept
            found.append(kept.revision)
            found.sort(key=documents.place)
        return tuple(found)

    def _is_ours(self, found: EnvoyConfigRevision) -> bool:
        return ownership.has({"metadata": {"labels": found.metadata.labels}}, self.mark)

    def _stored(self, key: NamespacedName) -> Stored | None:
        found, known = self._objects.get(key), self.known(ObjectRef(KIND.kind, *key))
        if found is None or known is None:
            return None
        version, status, content = known.resource_version, known.status, self._contents.get(key)
        return Stored(found, version, status, known.is_deleted, content)


def _owner(found: EnvoyConfigRevision) -> NamespacedName:
    name = found.metadata.annotations.get(documents.OWNER, "")
    return NamespacedName(found.metadata.namespace, name)
