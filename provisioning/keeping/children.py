"""The objects that were made for ContourConfigurations, as the API server has reported them last.

For noticing removed or edited objects at once, and for finding those that should not exist. There
is one reflector for each collection, with a label selector. The digest of an object leaves out what
changes all the time and is not ours: its status, its versions, and its managed fields.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import orjson

from crds import raw
from kube import reflector, versioncache
from kube.client import Client
from kube.discovery import Discovery, Wanted
from kube.reflector import Reflector
from provisioning.keeping import objects
from provisioning.templating import Document

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)


class Collection(NamedTuple):
    """Objects of one kind that are followed."""

    kind: str
    params: Mapping[str, str]
    """Selectors."""
    namespace: str = ""
    """Empty: all namespaces."""


def _whole(found: Document) -> Document:
    return found


class Children(Generic[Key]):
    """Objects by the key of the configuration that they were made for; followed in `run`."""

    def __init__(
        self,
        client: Client,
        collections: Iterable[Collection],
        key: Callable[[Document], Key],
        on_change: Callable[[Key], None],
        excerpt: Callable[[Document], Document] = _whole,
        timings: reflector.Timings | None = None,
    ) -> None:
        """`excerpt` returns the parts of an object that are kept; its digest is of the whole."""
        self._key = key
        self._on_change = on_change
        self._excerpt = excerpt
        self._objects: dict[Key, dict[str, Document]] = {}
        self._keys: dict[str, Key] = {}
        self._digests: dict[str, str] = {}
        discovery = Discovery(client)
        self._reflectors = [
            (
                it.kind,
                Reflector(client, discovery, _followed(it), _Handler(it.kind, self._put), timings),
            )
            for it in collections
        ]

    async def run(self) -> None:
        """Never ends."""
        async with asyncio.TaskGroup() as group:
            for _, it in self._reflectors:
                group.create_task(it.run())

    async def synced(self) -> None:
        """Returns when everything has been listed, except for what is denied or not served."""
        for _, it in self._reflectors:
            await it.settled.wait()

    @property
    def unlisted(self) -> int:
        """Kinds that have not been listed completely yet, also those that are denied."""
        return len({kind for kind, it in self._reflectors if it.state.is_unsynced})

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._keys)

    def __iter__(self) -> Iterator[Key]:
        """The keys that have objects."""
        return iter(tuple(self._objects))

    def of(self, key: Key) -> Mapping[str, Document]:
        """The objects of a key, by path."""
        return self._objects.get(key, {})

    def digest(self, path: str) -> str:
        """The digest of the object at a path; empty if there is none."""
        return self._digests.get(path, "")

    def _put(self, path: str, found: Document | None) -> None:
        concerned = {self._keys[path]} if path in self._keys else set[Key]()
        self._remove(path)
        if found is not None:
            key = self._keys[path] = self._key(found)
            self._objects.setdefault(key, {})[path] = self._excerpt(found)
            self._digests[path] = digest(found)
            concerned.add(key)
        for it in concerned:
            self._on_change(it)

    def _remove(self, path: str) -> None:
        key = self._keys.pop(path, None)
        self._digests.pop(path, None)
        if key is not None:
            del self._objects[key][path]
            if not self._objects[key]:
                del self._objects[key]


def digest(found: Document) -> str:
    """A digest that changes only if somebody writes something that matters to us."""
    metadata = {
        key: it
        for key, it in found["metadata"].items()
        if key not in {"resourceVersion", "managedFields", "generation", "creationTimestamp"}
    }
    metadata["annotations"] = {
        key: it
        for key, it in raw.mapping(metadata.get("annotations")).items()
        if not key.startswith(("deployment.kubernetes.io/", "deprecated.daemonset."))
    }
    rest = {key: it for key, it in found.items() if key not in {*_TYPE, "metadata", "status"}}
    packed = orjson.dumps([metadata, rest], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()


_TYPE = ("apiVersion", "kind")  # the items of a list do not have these


class _Handler:
    """Handles the events of one kind."""

    def __init__(self, kind: str, put: Callable[[str, Document | None], None]) -> None:
        self._kind = kind
        self._put = put

    def on_deltas(self, news: Sequence[versioncache.Delta]) -> None:
        for key, found in news:
            path = objects.RESOURCES[self._kind].path(*key)
            self._put(path, None if found is None else _of_kind(self._kind, found))

    def on_error(self, message: str) -> None:
        if message:
            log.warning("cannot watch the %s objects that were made: %s", self._kind, message)
        else:
            log.info("watching the %s objects that were made again", self._kind)


def _of_kind(kind: str, found: Document) -> Document:
    metadata = {key: it for key, it in found["metadata"].items() if key != "managedFields"}
    return found | {"kind": kind, "metadata": metadata}


def _followed(it: Collection) -> reflector.Collection:
    group, version, plural, namespaced = objects.RESOURCES[it.kind]
    wanted = Wanted(group, (version,), plural, namespaced)
    return reflector.Collection(wanted, it.namespace, it.params)
