"""Requests to an API server that return each answer unchanged and never retry.

They deliberately do not use the project's own client: it is itself under test, and would smooth
over differences between API servers.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

import aiohttp

Raw = dict[str, Any]

MEDIA = {
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
LONGEST_WAIT = 20.0  # seconds
_LONGEST_LINE = 1 << 24  # bytes


class RefusedError(Exception):
    """The API server refused a request."""

    def __init__(self, code: int, status: Raw) -> None:
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code = code
        self.status = status
        self.reason = str(status.get("reason", ""))


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
    """A watch that is open; yields types and objects until the server ends it."""

    response: aiohttp.ClientResponse

    async def next(self) -> tuple[str, Raw]:
        """The next event."""
        async with asyncio.timeout(LONGEST_WAIT):
            return await anext(self)

    async def rest(self) -> list[tuple[str, Raw]]:
        """All events until the server ends the watch, as it should."""
        async with asyncio.timeout(LONGEST_WAIT):
            return [it async for it in self]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[str, Raw]:
        line = await self.response.content.readline()
        if not line:
            raise StopAsyncIteration
        event = json.loads(line)
        return event["type"], event["object"]


class Client:
    """The requests of one user; `async with` opens the connections and closes them."""

    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self._url, self._tls = url, tls
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._url,
            headers=self._headers,
            connector=aiohttp.TCPConnector(ssl=self._tls or False, limit=0),
            read_bufsize=_LONGEST_LINE,
            timeout=aiohttp.ClientTimeout(sock_connect=5),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "",
        token: str = "",
        **query: str,
    ) -> Answer:
        """Sends one request, optionally with another user's token; returns its answer, whatever it
        is."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            headers["Content-Type"] = MEDIA.get(media, "application/json")
        async with self._session.request(
            method, path, params=query, data=None if body is None else json.dumps(body),
            headers=headers, timeout=aiohttp.ClientTimeout(total=LONGEST_WAIT),
        ) as response:  # fmt: skip
            text = await response.text()
            is_json = response.content_type == "application/json"
            read = json.loads(text) if is_json else text
            return Answer(response.status, read, response.content_type)

    async def ask(
        self, method: str, path: str, body: Any = None, media: str = "", **query: str
    ) -> Raw:
        """Sends one request; returns the object in its answer. Raises `RefusedError`."""
        answer = await self.request(method, path, body, media, **query)
        found: Raw = answer.body if isinstance(answer.body, dict) else {"message": answer.body}
        if answer.code >= 400:
            raise RefusedError(answer.code, found)
        return found

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[Events]:
        """A watch that is open while the block runs. Raises `RefusedError`."""
        async with self._session.get(path, params={"watch": "1", **query}) as response:
            if response.status != 200:
                raise RefusedError(response.status, {"message": await response.text()})
            yield Events(response)
