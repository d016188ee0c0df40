"""The key sets of an instance in a cluster: ConfigMaps that the leader writes and all replicas
read.

There is one for each source, in the namespace of the ContourConfiguration, with the labels of the
instance. A replica that starts has the former keys, even if their servers are unavailable, and what
the leader fetches reaches the other replicas at once. Keys are public, but the right to write these
ConfigMaps is the right to decide which tokens are valid. What is read from them is checked like the
answer of a server.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from contour.infrastructure.desired import Release
from contour.keysets import store
from crds.raw import at
from dag.references import jwks, keysets
from dag.references.keysets import Source
from kube.client import Client
from kube.workqueue import Requeue, WorkQueue
from provisioning.keeping import children, objects, ownership
from provisioning.keeping.applying import Applier
from provisioning.keeping.ownership import Ownership
from provisioning.templating import Document

log = logging.getLogger(__name__)

MAKER = ownership.KEY_SETS
"""Whose the ConfigMaps are; fleets have another maker, and are looked for by its label."""
LABEL = "projectcontour.io/key-set"
"""The label of each ConfigMap with the digest of its source."""
ENTRY = jwks.ENTRIES[0]
MOST = 1000
"""The number of ConfigMaps of an instance. Further key sets are not stored: each replica fetches
them."""
UNUSED = 600.0
"""Seconds for which an unused key set is kept, since a deleted user may be created again."""


def _ignored(_: Source) -> None:
    """Does nothing, where there is no consumer."""


def _not_written(_: str) -> None:
    """Does nothing: this replica does not lead."""


class Fetched(NamedTuple):
    """A key set as it was fetched."""

    source: Source
    keys: str


class SharedStore:
    """The stored ConfigMaps, as every replica sees them, and what this replica has fetched
    itself."""

    def __init__(self, client: Client, release: Release) -> None:
        own = owned(release)
        params = {"labelSelector": ownership.selector(own.labels)}
        found = children.Collection("ConfigMap", params, release.owner.namespace)
        self._children = children.Children(client, (found,), _digest_of, self._changed)
        self._sources: dict[str, Source] = {}
        self._fetched: dict[str, Fetched] = {}
        self.on_change: Callable[[Source], None] = _ignored
        """Takes a source whose key set another replica has stored."""
        self.on_write: Callable[[str], None] = _not_written
        """Takes the digest of a source whose ConfigMap may have to be written."""

    async def run(self) -> None:
        """Follows the ConfigMaps. Never ends."""
        await self._children.run()

    async def listed(self, patience: float) -> None:
        """Waits until the ConfigMaps are listed, for at most `patience` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._children.synced()
                return
        log.warning("the key sets that were kept are not known yet: ConfigMaps cannot be listed")

    def read(self, source: Source) -> str:
        """The key set that is kept for a source that is wanted; empty if there is none."""
        digest = store.digest(source)
        self._sources[digest] = source
        for found in self._children.of(digest).values():
            keys = at(found, "data", ENTRY)
            with suppress(jwks.UnusableError):
                return keysets.readable(source, keys.encode()) if isinstance(keys, str) else ""
        return ""

    def write(self, source: Source, keys: str) -> None:
        """Takes a fetched key set, which is written while this replica leads."""
        digest = store.digest(source)
        self._fetched[digest] = Fetched(source, keys)
        self.on_write(digest)

    def remove(self, source: Source) -> None:
        """Nobody uses the key set any more."""
        digest = store.digest(source)
        self._sources.pop(digest, None)
        self._fetched.pop(digest, None)
        self.on_write(digest)

    def is_wanted(self, digest: str) -> bool:
        """Whether a source is used."""
        return digest in self._sources

    def fetched(self, digest: str) -> Fetched | None:
        """The key set that this replica has fetched, unless another one has stored a newer one."""
        return self._fetched.get(digest)

    def stored(self, digest: str) -> list[Document]:
        """The ConfigMaps of a source."""
        return [*self._children.of(digest).values()]

    def digests(self) -> Iterator[str]:
        """The digests of all sources that are stored or were fetched."""
        yield from {*self._children, *self._fetched}

    @property
    def is_full(self) -> bool:
        """Whether no further ConfigMap may be created."""
        return len(self._children) >= MOST

    def seen(self, path: str) -> str:
        """The digest of a ConfigMap as last seen."""
        return self._children.digest(path)

    def _changed(self, digest: str) -> None:
        source = self._sources.get(digest)
        if self.on_write is not _not_written:
            self.on_write(digest)  # undoes the changes of others
        elif source is not None and self._children.of(digest):
            self._fetched.pop(digest, None)
            self.on_change(source)


class Publisher:
    """Writes what this replica has fetched, while it leads."""

    def __init__(
        self, client: Client, release: Release, shared: SharedStore, is_serving: Callable[[], bool]
    ) -> None:
        """`is_serving` says whether all used sources are known."""
        self._applier = Applier(client, MAKER)
        self._release = release
        self._shared = shared
        self._is_serving = is_serving
        self._queue = WorkQueue[str]()
        self._unused: dict[str, float] = {}

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._queue = WorkQueue[str]()
        self._unused.clear()
        for digest in self._shared.digests():
            self._queue.add(digest)
        self._shared.on_write = self._queue.add
        try:
            await self._queue.run(self._reconcile)
        finally:
            self._shared.on_write = _not_written

    async def _reconcile(self, digest: str) -> bool:
        if self._shared.is_wanted(digest):
            self._unused.pop(digest, None)
            found = self._shared.fetched(digest)
            if found is not None:
                await self._apply(digest, found)
            return False
        return await self._end(digest)

    async def _apply(self, digest: str, found: Fetched) -> None:
        if self._shared.is_full and not self._shared.stored(digest):
            log.warning("the key set of %s is not kept: there are %d", found.source.uri, MOST)
            return
        document = described(self._release, digest, found)
        path = objects.path(document)
        applied = await self._applier.apply(document, owned(self._release), self._shared.seen(path))
        if applied.problem is not None:
            raise Requeue(applied.problem.message)

    async def _end(self, digest: str) -> bool:
        """Removes what has not been used for a while."""
        present = self._shared.stored(digest)
        if not present:
            self._unused.pop(digest, None)
            return False
        now = asyncio.get_running_loop().time()
        since = self._unused.setdefault(digest, now) if self._is_serving() else now
        if now - since < UNUSED:
            self._queue.add(digest, UNUSED)
            return False
        for document in present:
            if (problem := await self._applier.prune(document)) is not None:
                raise Requeue(problem.message)
        return False


def owned(release: Release) -> Ownership:
    """The labels of the ConfigMaps."""
    return Ownership(release.owner, MAKER)


def described(release: Release, digest: str, found: Fetched) -> Document:
    """The ConfigMap of a key set."""
    labels = {"app.kubernetes.io/part-of": "contour", LABEL: digest, **owned(release).labels}
    name = release.named(f"contour-keys-{digest}")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": release.owner.namespace, "labels": labels},
        "data": {"uri": found.source.uri, ENTRY: found.keys},
    }


def _digest_of(document: Document) -> str:
    return str(at(document, "metadata", "labels", LABEL) or "")
