"""What a node asks the API server: single requests, and collections that it follows.

On purpose not the project's own client, which is among what is tested. An answer that is an error
raises `RefusedError`; a collection survives an API server that is away for a while.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Self

import aiohttp

from tests.cluster.cluster import MEDIA, Cluster, RefusedError

Raw = dict[str, Any]
Key = tuple[str, str]  # namespace, name
Told = Callable[[Key, Raw | None], None]

_LONGEST_LINE = 1 << 24
_PAUSE = 0.3  # seconds before a lost watch is taken up again


def key_of(obj: Raw) -> Key:
    """By which an object is known within its collection."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Api:
    """The API server, asked with the administrator's rights."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._cluster.url,
            headers={"Authorization": f"Bearer {self._cluster.admin_token}"},
            connector=aiohttp.TCPConnector(ssl=self._cluster.tls, limit=0),
            read_bufsize=_LONGEST_LINE,
            timeout=aiohttp.ClientTimeout(sock_connect=5),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(
        self, method: str, path: str, body: Raw | None = None, media: str = "", **query: str
    ) -> Raw:
        """One request; the answer, or `RefusedError`."""
        headers = {"Content-Type": MEDIA.get(media, "application/json")}
        packed = None if body is None else json.dumps(body)
        timeout = aiohttp.ClientTimeout(total=20)
        async with self._session.request(
            method, path, params=query, data=packed, headers=headers, timeout=timeout
        ) as response:
            answer: Raw = await response.json(content_type=None)
            if response.status >= 400:
                raise RefusedError(response.status, answer)
            return answer

    async def watch(self, path: str, version: str, told: Callable[[str, Raw], None]) -> None:
        """Tells types and objects of events until the server ends the watch."""
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        async with self._session.get(path, params=query) as response:
            response.raise_for_status()
            async for line in response.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                told(event["type"], event["object"])


class Collection:
    """All objects at a path, as last told; who listens hears of every change, None when gone."""

    def __init__(self, api: Api, path: str) -> None:
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
                    await self._api.watch(self._path, self._version, self._note)
            except (aiohttp.ClientError, RefusedError, TimeoutError, OSError, ValueError):
                await asyncio.sleep(_PAUSE)

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
