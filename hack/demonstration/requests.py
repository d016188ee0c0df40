"""Requests with their expected answers, and a client that gets the actual ones."""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

import aiohttp

from hack.demonstration.instance import Instance


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its expected answer."""

    url: str
    expected: str
    """A status, and the backend or the location."""
    because: str


class Client:
    """A client that sends Envoy requests for hosts whose names are in no DNS."""

    def __init__(self, instance: Instance) -> None:
        self._ports = {"http": instance.http, "https": instance.https}
        self._tls = ssl.create_default_context(cafile=str(instance.copy.authority))
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def answer(self, url: str) -> str:
        """The answer, or the error, in the words of `Request.expected`."""
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        try:
            async with self._session.get(
                f"{scheme}://127.0.0.1:{self._ports[scheme]}/{path}",
                headers={"Host": host},
                ssl=self._tls,
                server_hostname=host if scheme == "https" else None,
                allow_redirects=False,
            ) as response:
                return _said(response, await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            return f"{type(error).__name__}: {error}"


def _said(response: aiohttp.ClientResponse, body: bytes) -> str:
    told = response.headers.get("location", "")
    if response.status == 200 and response.content_type == "application/json":
        told = json.loads(body)["backend"]
    return f"{response.status} {told}".strip()


@dataclass(slots=True)
class Load:
    """Requests one after another on a few connections, while something changes."""

    url: str
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def sent(self) -> int:
        """How many were sent."""
        return self.answers.total()

    @property
    def lost(self) -> int:
        """How many got no answer from a backend."""
        return sum(count for told, count in self.answers.items() if not told.startswith("200 "))

    async def until(self, told: str) -> bool:
        """Waits until an answer reads so; gives up after ten seconds."""
        try:
            async with asyncio.timeout(10):
                while told not in self.answers:
                    await asyncio.sleep(0.001)
        except TimeoutError:
            return False
        return True

    async def more(self, count: int) -> None:
        """Waits until this many more were answered."""
        enough = self.sent + count
        while self.sent < enough:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def load(client: Client, url: str, connections: int = 4) -> AsyncIterator[Load]:
    """Requests the URL while the block runs, as fast as it is answered."""
    result = Load(url)

    async def ask() -> None:
        while not ended.is_set():
            result.answers[await client.answer(url)] += 1

    ended = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(ask())
        try:
            yield result
        finally:
            ended.set()
