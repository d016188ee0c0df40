"""Writes the revisions of EnvoyConfigs on the leader, one step after the other.

Level-triggered: a key of the work queue is an EnvoyConfig. After each write it waits until the
replica has seen the result, so that the next step depends only on what exists. Nothing is written
in a namespace with revisions of another controller or with a DiscoveryService of MARIN3R.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b

from contour.controller import Controller
from contour.discovery import documents, steps
from contour.discovery.documents import RESOURCE, Stored
from contour.discovery.following import Following
from contour.discovery.steps import Create, Remove, Renumber, Step, Tell, Wanted
from contour.rawconfig import snapshot
from contour.rawconfig.reading import TYPES
from contour.status import merging
from crds.envoyconfig import EnvoyConfig, ResourceType
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw, at, items, mapping
from dag import tables
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from kube import errors
from kube.client import Client
from kube.resources import Resource
from kube.versioncache import number
from kube.workqueue import Requeue, WorkQueue

_SERVICES = Resource("operator.marin3r.3scale.net", "v1alpha1", "discoveryservices")
_GOOD_FOR = 30.0
"""Seconds for which a look for a DiscoveryService is cached."""
_PATIENCE = 5.0
"""Seconds within which a write has to be seen."""
_FIELD_MANAGER = {"fieldManager": "contour"}

_FIELDS: Mapping[ResourceType, str] = {
    "endpoint": "endpoints",
    "cluster": "clusters",
    "route": "routes",
    "scopedRoute": "scopedRoutes",
    "listener": "listeners",
    "secret": "secrets",
    "runtime": "runtimes",
    "extensionConfig": "extensionConfigs",
}
_BY_URL = {TYPES[type_]: field for type_, field in _FIELDS.items()}

Afterwards = Callable[[NamespacedName, EnvoyConfig], Awaitable[None]]
"""What is done for an EnvoyConfig that has its node ID when its revisions are up to date."""


class Revisions:
    """Makes, marks and removes the revisions of all EnvoyConfigs."""

    def __init__(
        self, client: Client, following: Following, controller: Controller, afterwards: Afterwards
    ) -> None:
        self._client = client
        self._following = following
        self._controller = controller
        self._afterwards = afterwards
        self._queue = WorkQueue[NamespacedName]()
        self._is_running = False
        self._services: dict[str, tuple[float, str]] = {}
        self._ours: set[str] = set()
        self.written = 0
        """The number of writes."""

    def notice(self, key: NamespacedName) -> None:
        """The revisions of an EnvoyConfig may have to be written."""
        if self._is_running:
            self._queue.add(key)

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._is_running = True
        try:
            for key in self._following.owners():
                self._queue.add(key)
            await self._queue.run(self._reconcile)
        finally:
            self._is_running = False
            self._queue = WorkQueue[NamespacedName]()
            self._services.clear()
            self._ours.clear()

    def may_write(self, namespace: str) -> bool:
        """Whether no other controller writes revisions in a namespace, as far as that is known."""
        return namespace in self._ours and not self._following.foreign(namespace)

    async def _reconcile(self, key: NamespacedName) -> bool:
        if key.namespace not in self._following.namespaces or self._following.cluster is None:
            return False
        if reason := await self._obstacle(key.namespace):
            self._leave_alone(key.namespace, reason)
            return True
        self._leave_alone(key.namespace, "")
        while (step := self.next_step(key)) is not None:
            await self._perform(step)
            self.written += 1
        owner = self._owner(key)
        if owner is None or self._is_leaving(key):
            return False
        if self._controller.engine.answer(revisions.choice, key) is not None:  # it has the node ID
            await self._afterwards(key, owner)
        return True

    async def _obstacle(self, namespace: str) -> str:
        """Which other controller keeps revisions in a namespace; empty if none does."""
        if self._following.foreign(namespace):
            return "there are EnvoyConfigRevisions of somebody else"
        service = await self._service(namespace)
        return f"there is the DiscoveryService {service}" if service else ""

    def next_step(self, key: NamespacedName) -> Step | None:
        """The next write for an EnvoyConfig, from what is seen; None if nothing is left to do."""
        owner, present = self._owner(key), self._following.of(key)
        if owner is None:
            is_there = self._following.known(_ref(key)) is not None
            return None if is_there else steps.following(None, present, _now())
        if self._is_leaving(key):
            return None  # they are deleted with it
        return steps.following(self._wanted(key, owner), present, _now())

    def _wanted(self, key: NamespacedName, owner: EnvoyConfig) -> Wanted:
        engine = self._controller.engine
        choice = engine.answer(revisions.choice, key)
        if choice is None:
            # Another EnvoyConfig has the node ID: the revisions stay, but none is published.
            return Wanted(owner, engine.row(revisions.HISTORY, key) or (), "", {}, self._mark)
        published = choice.published.version if choice.published is not None else ""
        node = NodeKey(key.namespace, owner.spec.node_id)
        found = engine.answer(snapshot.snapshot, node)
        provides = _versions(found) if found is not None else {}
        return Wanted(owner, choice.revisions, published, provides, self._mark)

    @property
    def _mark(self) -> Mapping[str, str]:
        return self._following.mark

    def _owner(self, key: NamespacedName) -> EnvoyConfig | None:
        return self._controller.engine.row(tables.ENVOY_CONFIGS, key)

    def _is_leaving(self, key: NamespacedName) -> bool:
        known = self._following.known(_ref(key))
        return known is not None and known.is_deleted

    async def _perform(self, step: Step) -> None:
        match step:
            case Create(document):
                metadata = mapping(document["metadata"])
                key = NamespacedName(str(metadata["namespace"]), str(metadata["name"]))
                made = await self._client.create(RESOURCE.path(key.namespace), document)
                await self._see(key, str(at(made, "metadata", "resourceVersion")))
            case Renumber(stored, sequence):
                text = {documents.SEQUENCE: str(sequence)}
                await self._patch(stored, {"metadata": {"annotations": text}})
            case Tell(stored, status):
                change = merging.difference(stored.status, status)
                await self._patch(stored, {"status": change}, "status")
            case Remove(stored):
                await self._remove(stored)

    async def _patch(self, stored: Stored, body: Raw, part: str = "") -> None:
        version = {"resourceVersion": stored.resource_version}
        body = {**body, "metadata": {**mapping(body.get("metadata")), **version}}
        path = RESOURCE.path(*stored.key, subresource=part)
        made = await self._client.patch(path, body, params=_FIELD_MANAGER)
        await self._see(stored.key, str(at(made, "metadata", "resourceVersion")))

    async def _remove(self, stored: Stored) -> None:
        uid = stored.object.metadata.uid
        preconditions = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        try:
            await self._client.delete(RESOURCE.path(*stored.key), preconditions)
        except errors.Refused as error:
            if error.code != 404:
                raise

        def is_gone() -> bool:
            found = self._following.applied(stored.key)
            return found is None or found.is_deleted or found.uid != uid

        await self._require(is_gone)

    async def _see(self, key: NamespacedName, version: str) -> None:
        def is_seen() -> bool:
            found = self._following.applied(key)
            return found is not None and number(found.resource_version) >= number(version)

        await self._require(is_seen)

    async def _require(self, condition: Callable[[], bool]) -> None:
        if not await self._following.until(condition, _PATIENCE):
            raise Requeue("what was written has not been seen yet")

    async def _service(self, namespace: str) -> str:
        """The DiscoveryService in a namespace; empty if there is none."""
        now = asyncio.get_running_loop().time()
        until, found = self._services.get(namespace, (0.0, ""))
        if now >= until:
            found = await self._asked(namespace)
            self._services[namespace] = (now + _GOOD_FOR, found)
        return found

    async def _asked(self, namespace: str) -> str:
        found = await self._client.find(_SERVICES.path(namespace), {"limit": "1"})
        if found is None:
            return ""  # no such kind
        return next((str(at(it, "metadata", "name")) for it in items(found.get("items"))), "")

    def _leave_alone(self, namespace: str, reason: str) -> None:
        engine, was_ours = self._controller.engine, namespace in self._ours
        (self._ours.discard if reason else self._ours.add)(namespace)
        told = engine.row(tables.LEFT_ALONE, ()) or ()
        others = {it for it in told if not it.startswith(f"{namespace}:")}
        if reason:
            others.add(f"{namespace}: {reason}")
        found = tuple(sorted(others))
        if found != told:
            engine.write(tables.LEFT_ALONE, (), found or None)
            self._controller.settle()
        if not reason and not was_ours:
            for key in self._following.owners():
                self._following.on_object(_ref(key))


def _ref(key: NamespacedName) -> ObjectRef:
    return ObjectRef("EnvoyConfig", *key)


def _versions(found: snapshot.Snapshot) -> dict[str, str]:
    """A version for each type of resource, by the name of its field."""
    bodies = defaultdict[str, list[bytes]](list)
    for name, part, value in found.parts:
        if value is not None:
            bodies[_BY_URL[name.type_url]] += (name.name.encode(), part.encode(), value.body)
    return {
        field: blake2b(b"\0".join(every), digest_size=8).hexdigest()
        for field, every in sorted(bodies.items())
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
