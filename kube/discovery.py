"""Which resources a server has, and in which version: some of them come and go with their CRDs.

It reads one small document per group and version, at most once a second however many callers ask.
Aggregated discovery is not used: its one document lists everything in a cluster, hundreds of KB,
while we look for a handful of resources. If the request is forbidden, the caller assumes the first
version.
"""

import asyncio
from collections import defaultdict
from typing import NamedTuple

from crds import raw
from kube import errors
from kube.client import Client
from kube.resources import Resource


class Wanted(NamedTuple):
    """A resource that may be served in one of several compatible versions, the best first."""

    group: str
    versions: tuple[str, ...]
    plural: str
    namespaced: bool = True
    kind: str = ""
    """If given, the resource is looked for by its kind, and `plural` is a guess."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resource in each of the versions."""
        return tuple(Resource(self.group, it, self.plural, self.namespaced) for it in self.versions)


class _Served(NamedTuple):
    """A resource of an API server; a subresource has a slash in its name."""

    plural: str
    kind: str
    namespaced: bool


class Discovery:
    """Reads discovery documents of a server, and caches them for a moment."""

    def __init__(self, client: Client, good_for: float = 1.0) -> None:
        self._client = client
        self._good_for = good_for  # seconds
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._resources: dict[str, tuple[float, frozenset[_Served]]] = {}

    async def resource(self, wanted: Wanted) -> Resource | None:
        """The first of its versions that is served; None if none is."""
        for resource in wanted.resources:
            for it in await self._served(resource.root):
                if _fits(it, wanted):
                    return resource._replace(plural=it.plural)
        return None

    async def _served(self, root: str) -> frozenset[_Served]:
        """The resources of a group and version; none if there is no such version."""
        loop = asyncio.get_running_loop()
        async with self._locks[root]:
            known = self._resources.get(root)
            if known is None or loop.time() >= known[0]:
                found = await self._asked(root)
                self._resources[root] = known = (loop.time() + self._good_for, found)
        return known[1]

    async def _asked(self, root: str) -> frozenset[_Served]:
        found = await self._client.find(root)
        return frozenset() if found is None else frozenset(_listed(found))


def _fits(found: _Served, wanted: Wanted) -> bool:
    if not wanted.kind:
        return found.plural == wanted.plural
    is_whole = "/" not in found.plural
    return is_whole and (found.kind, found.namespaced) == (wanted.kind, wanted.namespaced)


def _listed(found: object) -> list[_Served]:
    resources = raw.at(found, "resources")
    if not raw.is_list(resources):
        raise errors.Unreachable("the answer is not a list of resources")
    return [
        _Served(str(it["name"]), str(it.get("kind", "")), bool(it.get("namespaced")))
        for it in filter(raw.is_mapping, resources)
        if "name" in it
    ]
