"""The collections of an API server that a node follows; an API server may be away for a while."""

import asyncio
from collections.abc import Callable, Mapping

import aiohttp

from tests.testbed.apiserver import Client, Raw, RefusedError

Key = tuple[str, str]  # namespace, name
Told = Callable[[Key, Raw | None], None]

_PAUSE = 0.3  # seconds before a lost watch is taken up again


def key_of(obj: Raw) -> Key:
    """By which an object is known within its collection."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Collection:
    """All objects at a path, as last told; who listens hears of every change, None when gone."""

    def __init__(self, api: Client, path: str) -> None:
        self._api = api
        self._path = path
        self._objects: dict[Key, Raw] = {}
        self._listeners: list[Told] = []
        self._version = ""
        self.listed = asyncio.Event()

    @property
    def objects(self) -> Mapping[Key, Raw]:
        """By namespace and name."""
        return self._objects

    def listen(self, told: Told) -> None:
        """Tells of what comes from now on."""
        self._listeners.append(told)

    async def follow(self) -> None:
        """Never ends."""
        while True:
            try:
                await self._list()
                self.listed.set()
                while True:
                    await self._watch()
            except (aiohttp.ClientError, RefusedError, TimeoutError, OSError, ValueError):
                await asyncio.sleep(_PAUSE)

    async def _watch(self) -> None:
        since = {"resourceVersion": self._version, "allowWatchBookmarks": "true"}
        async with self._api.watch(self._path, **since) as events:
            async for event, obj in events:
                if event == "ERROR":
                    return
                self._note(event, obj)

    async def _list(self) -> None:
        answer = await self._api.ask("GET", self._path)
        self._version = answer["metadata"]["resourceVersion"]
        found = {key_of(it): it for it in answer.get("items") or ()}
        for key in [it for it in self._objects if it not in found]:
            self._set(key, None)
        for key, obj in found.items():
            if self._objects.get(key) != obj:
                self._set(key, obj)

    def _note(self, event: str, obj: Raw) -> None:
        self._version = obj["metadata"]["resourceVersion"]
        if event != "BOOKMARK":
            self._set(key_of(obj), None if event == "DELETED" else obj)

    def _set(self, key: Key, obj: Raw | None) -> None:
        if obj is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = obj
        for told in self._listeners:
            told(key, obj)
