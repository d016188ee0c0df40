"""Requests to an API server, as fast as one process can send them; every outcome is counted.

HTTP/1.1 written by hand on kept-alive connections, as in `load`: the project's own client must not
measure itself, and the usual clients cost more than the API server does. Nothing is retried.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from crds.kinds import KINDS, Kind
from tests.testbed.load import read_answer
from tests.testbed.world import Document

MERGE = "application/merge-patch+json"
LONGEST_LINE = 1 << 25

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refused(Exception):  # noqa: N818
    """The API server refused a request."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"{code} {words}")
        self.code = code


class Call(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes = b""
    media: str = "application/json"


class Sighting(NamedTuple):
    """An event that a watch received, and when."""

    at: float
    type: str
    object: Document


@dataclass(slots=True)
class Caller:
    """A number of connections to one API server."""

    url: str
    token: str = ""
    tls: ssl.SSLContext | None = None
    parallel: int = 16
    _idle: list[Connection] = field(default_factory=list)

    async def ask(self, call: Call) -> Document:
        """The answer. Raises `Refused`, OSError, EOFError."""
        reader, writer = self._kept() or await self._connection()
        try:
            writer.write(self._encoded(call))
            answer = await read_answer(reader)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        if answer.status >= 400:
            raise Refused(answer.status, answer.body[:300].decode(errors="replace"))
        found: Document = orjson.loads(answer.body)
        return found

    async def all(self, calls: Iterable[Call]) -> None:
        """Sends all calls in this order, a number of them at once."""
        rest = iter(calls)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.parallel):
                tasks.create_task(self._each(rest))

    async def _each(self, rest: Iterator[Call]) -> None:
        for call in rest:
            await self.ask(call)

    @asynccontextmanager
    async def watch(self, path: str, version: str = "") -> AsyncIterator[AsyncIterator[Sighting]]:
        """Yields the existing objects and then all changes, or the changes after a version if one
        is given."""
        since = f"&resourceVersion={version}" if version else ""
        reader, writer = await self._connection()
        writer.write(self._encoded(Call("GET", f"{path}?watch=1{since}")))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise Refused(int(head.split(b" ", 2)[1]), path)
        try:
            yield _sightings(reader)
        finally:
            writer.close()

    def _kept(self) -> Connection | None:
        """A connection that the server has not closed meanwhile."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return None

    def close(self) -> None:
        """Ends every connection."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _connection(self) -> Connection:
        where = urlsplit(self.url)
        return await asyncio.open_connection(
            where.hostname, where.port, ssl=self.tls, limit=LONGEST_LINE
        )

    def _encoded(self, call: Call) -> bytes:
        where = urlsplit(self.url)
        authorization = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        head = (
            f"{call.method} {call.path} HTTP/1.1\r\nHost: {where.netloc}\r\n{authorization}"
            f"Content-Type: {call.media}\r\nContent-Length: {len(call.body)}\r\n"
            "Accept: application/json\r\n\r\n"
        )
        return head.encode() + call.body


async def _sightings(reader: asyncio.StreamReader) -> AsyncIterator[Sighting]:
    """The lines of a chunked answer; a chunk is a piece of a line, or several."""
    rest = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        rest += (await reader.readexactly(size + 2))[:-2]
        *lines, rest = rest.split(b"\n")
        now = time.monotonic()
        for line in lines:
            found = orjson.loads(line)
            yield Sighting(now, found["type"], found["object"])


def collection(document: Document) -> str:
    """Where the objects of its kind are, in its namespace."""
    kind = _kind(document["kind"])
    root = f"/apis/{document['apiVersion']}" if kind.group else f"/api/{document['apiVersion']}"
    if not kind.namespaced:
        return f"{root}/{kind.plural}"
    return f"{root}/namespaces/{document['metadata']['namespace']}/{kind.plural}"


def everywhere(kind: str, version: str) -> str:
    """Where the objects of a kind are, in all namespaces."""
    found = _kind(kind)
    root = f"/apis/{found.group}/{version}" if found.group else f"/api/{version}"
    return f"{root}/{found.plural}"


def _kind(name: str) -> Kind:
    return next(it for it in KINDS.values() if it.kind == name)


def path(document: Document) -> str:
    """Where an object is."""
    return f"{collection(document)}/{document['metadata']['name']}"


def created(document: Document) -> Call:
    """The call that adds it."""
    return Call("POST", collection(document), json.dumps(document).encode())


def merged(document: Document) -> Call:
    """The call that gives it this content; lists are replaced as a whole."""
    changed = {name: it for name, it in document.items() if name not in {"apiVersion", "kind"}}
    return Call("PATCH", path(document), orjson.dumps(changed), MERGE)


def deleted(document: Document) -> Call:
    """The call that removes it."""
    return Call("DELETE", path(document))


@contextmanager
def calling(url: str, token: str = "", tls: ssl.SSLContext | None = None) -> Iterator[Caller]:
    """A caller that is closed in the end."""
    made = Caller(url, token, tls)
    try:
        yield made
    finally:
        made.close()


def status_condition(document: Document, name: str) -> dict[str, Any]:
    """A condition of an object; empty if it has none."""
    conditions = document.get("status", {}).get("conditions", ())
    return next((it for it in conditions if it["type"] == name), {})
