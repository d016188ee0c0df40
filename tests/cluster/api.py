"""One way to ask the double and the real API server, for the tests that compare them.

Raw requests and raw answers: a client that smooths over differences would hide them.
"""

import asyncio
import json
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

import aiohttp

from tests.cluster.cluster import MEDIA

Raw = dict[str, Any]

GROUP = "truth.example"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LONGEST_WAIT = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    code: int
    body: Any
    media: str

    @property
    def metadata(self) -> Raw:
        """Of the object that came back."""
        found: Raw = self.body["metadata"]
        return found

    @property
    def reason(self) -> str:
        """Of the Status that came back."""
        return str(self.body["reason"])


@dataclass(slots=True)
class Events:
    """A watch that is open."""

    response: aiohttp.ClientResponse

    async def next(self) -> tuple[str, Raw]:
        """Type and object of the next event."""
        async with asyncio.timeout(LONGEST_WAIT):
            event = json.loads(await self.response.content.readline())
        return event["type"], event["object"]

    async def rest(self) -> list[tuple[str, Raw]]:
        """All events until the server ends the watch, as it should."""
        async with asyncio.timeout(LONGEST_WAIT):
            lines = (await self.response.content.read()).splitlines()
        return [(it["type"], it["object"]) for it in map(json.loads, lines)]


class Api:
    """An API server, with a namespace and a kind without a schema to play with."""

    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.namespace = f"truth-{secrets.token_hex(4)}"
        self.powerless = ""  # the token of somebody without any right
        self._tls = tls or False
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session = aiohttp.ClientSession(url)

    @property
    def things(self) -> str:
        """Where objects of a custom kind with a status are."""
        return f"/apis/{GROUP}/v1/namespaces/{self.namespace}/things"

    def built_in(self, plural: str, group: str = "") -> str:
        """Where objects of a built-in kind are."""
        root = f"/apis/{group}/v1" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}"

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "",
        token: str = "",
        **query: str,
    ) -> Answer:
        """One request."""
        sent = {"Content-Type": MEDIA.get(media, "application/json")} if body is not None else {}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        async with self._session.request(
            method, path, params=query, data=None if body is None else json.dumps(body),
            headers=self._headers | sent, ssl=self._tls,
        ) as response:  # fmt: skip
            text = await response.text()
            is_json = response.content_type == "application/json"
            return Answer(response.status, json.loads(text) if is_json else text,
                          response.content_type)  # fmt: skip

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[Events]:
        """Opens a watch."""
        async with self._session.get(
            path, params={"watch": "1", **query}, headers=self._headers, ssl=self._tls
        ) as response:
            assert response.status == 200, await response.text()
            yield Events(response)

    async def make(self, name: str, **metadata: Any) -> Answer:
        """Makes a thing."""
        return await self.ask("POST", self.things, thing(name, **metadata))

    async def version(self) -> str:
        """Of the things now: where a watch may begin."""
        return str((await self.ask("GET", self.things)).metadata["resourceVersion"])

    async def __aenter__(self) -> Self:
        """Makes the namespace and the kind; returns when that is served."""
        await self.ask("POST", CRDS, definition("things", "Thing"))
        metadata = {"name": self.namespace}
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        answer = await self.ask("POST", "/api/v1/namespaces", made)
        assert answer.code == 201, answer.body
        await self._served(self.things)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.ask("DELETE", f"/api/v1/namespaces/{self.namespace}")
        await self._session.close()

    async def define_another(self) -> str:
        """One more kind; its plural, of which the kind is the title."""
        plural = f"others{secrets.token_hex(4)}"
        await self.ask("POST", CRDS, definition(plural, plural.title()))
        await self._served(f"/apis/{GROUP}/v1/namespaces/{self.namespace}/{plural}")
        return plural

    async def _served(self, path: str) -> None:
        async with asyncio.timeout(LONGEST_WAIT):
            while (await self.ask("GET", path)).code != 200:
                await asyncio.sleep(0.02)


def thing(name: str, **metadata: Any) -> Raw:
    """An object of the kind to play with."""
    named = {"name": name, **metadata}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": named, "spec": {"x": 1}}


def definition(plural: str, kind: str) -> Raw:
    """A CRD whose objects may hold anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }
