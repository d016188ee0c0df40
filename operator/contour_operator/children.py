"""What carries a mark of ours in the cluster, as the API server has told of it last.

For noticing at once what was removed or edited, and for knowing what there is that should not be.
One reflector for each kind, for labelled objects only. Secrets are followed by the three names that
an instance has, so that no right to list all Secrets is needed, and nothing of their contents is
kept.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kube import ledger
from kube.client import Client
from kube.discovery import Discovery, Wanted
from kube.reflector import Collection, Reflector
from kube.resources import Resource
from provisioning import applying, ownership
from provisioning.ownership import Owner
from provisioning.secrets import Names
from provisioning.templating import Document

log = logging.getLogger(__name__)

LEAVES = ("contour", "envoy")
"""Who has a certificate."""

Labels = tuple[str, str]
"""The namespace and name of a configuration, as they stand in labels."""


class Child(NamedTuple):
    """An object that we have made, or an instance has."""

    resource: Resource
    document: Document
    """Its metadata and its status, without the rest."""

    @property
    def labels(self) -> Mapping[str, str]:
        """By which it is known."""
        return self.document["metadata"].get("labels") or {}

    @property
    def path(self) -> str:
        """Where it is."""
        metadata = self.document["metadata"]
        return self.resource.path(metadata.get("namespace", ""), metadata["name"])


class Children:
    """Follows all of them, in `run`."""

    def __init__(self, client: Client, notice: Callable[[Labels], None]) -> None:
        self._notice = notice
        self._seen: dict[Labels, dict[str, Child]] = {}
        self._where: dict[str, Labels] = {}
        discovery = Discovery(client)
        self.reflectors = [
            Reflector(client, discovery, collection, _Intake(self, resource))
            for resource, collection in _collections()
        ]

    async def run(self) -> None:
        """Never ends."""
        async with asyncio.TaskGroup() as group:
            for it in self.reflectors:
                group.create_task(it.run())

    def __len__(self) -> int:
        """How many are known."""
        return len(self._where)

    @property
    def unlisted(self) -> int:
        """Collections of them that were not listed yet."""
        return sum(not it.settled.is_set() for it in self.reflectors)

    async def settled(self) -> None:
        """Returns when all that is there is known."""
        await asyncio.gather(*(it.settled.wait() for it in self.reflectors))

    def of(self, owner: Owner) -> Sequence[Child]:
        """Everything that was made for a configuration."""
        return tuple(self._seen.get(labels(owner), {}).values())

    def state(self, path: str) -> str:
        """Of the child at a path; empty if there is none."""
        child = self._seen.get(self._where.get(path, ("", "")), {}).get(path)
        return "" if child is None else state(child.document)

    def take(self, path: str, child: Child | None) -> None:
        """It is so now."""
        before = self._where.get(path)
        self._put(path, child)
        for it in {before, self._where.get(path)}:
            if it is not None:
                self._notice(it)

    def _put(self, path: str, child: Child | None) -> None:
        before = self._where.pop(path, None)
        if before is not None:
            self._seen[before].pop(path, None)
            if not self._seen[before]:
                del self._seen[before]
        found = child and child.document["metadata"].get("labels", {})
        if child is not None and found:
            now = (found.get(ownership.NAMESPACE, ""), found.get(ownership.NAME, ""))
            self._where[path] = now
            self._seen.setdefault(now, {})[path] = child


def state(document: Document) -> str:
    """Equal for an object that nobody has written since, but for its status.

    The API server counts in the generation whatever else is written, except labels; where it counts
    nothing, every write makes a new state.
    """
    metadata = document["metadata"]
    written = metadata.get("generation") or metadata["resourceVersion"]
    labels = sorted((metadata.get("labels") or {}).items())
    return f"{metadata['uid']} {written} {labels}"


def labels(owner: Owner) -> Labels:
    """How the labels of children name it."""
    found = owner.labels
    return found[ownership.NAMESPACE], found[ownership.NAME]


class _Intake:
    def __init__(self, children: Children, resource: Resource) -> None:
        self._children = children
        self._resource = resource

    def take(self, news: Sequence[ledger.Sighting]) -> None:
        for key, found in news:
            path = self._resource.path(*key)
            child = None if found is None else Child(self._resource, excerpt(found))
            self._children.take(path, child)

    def trouble(self, message: str) -> None:
        if message:
            log.warning("cannot watch %s: %s", self._resource, message)
        else:
            log.info("watching %s again", self._resource)


def excerpt(found: Document) -> Document:
    """What of an object is kept."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    replicas = (found.get("spec") or {}).get("replicas")
    return {"metadata": metadata, "status": found.get("status") or {}, "replicas": replicas}


def _collections() -> Iterable[tuple[Resource, Collection]]:
    for kind, resource in applying.RESOURCES.items():
        group, version, plural, namespaced = resource
        wanted = Wanted(group, (version,), plural, namespaced)
        params = {"labelSelector": ownership.NAME}
        if kind != "Secret":
            yield resource, Collection(wanted, params=params)
            continue
        for name in Names().all(LEAVES):
            named = params | {"fieldSelector": f"metadata.name={name}"}
            yield resource, Collection(wanted, params=named)
