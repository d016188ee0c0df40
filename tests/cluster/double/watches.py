"""A watch that is open: what it tells, and what a test may do to it.

Ends after `timeoutSeconds`, as real ones do. Who asked for bookmarks gets one a minute, as there,
and whenever a test says so.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.cluster.double.faults import Tampering
from tests.cluster.double.resources import Name
from tests.cluster.double.selectors import Predicate
from tests.cluster.double.store import Change, Store, objects

Raw = dict[str, Any]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BOOKMARKS = 60.0  # seconds from one to the next


@dataclass(frozen=True, slots=True)
class Wish:
    """What a watch asked for."""

    name: Name
    kind: str
    api_version: str
    is_selected: Predicate
    render: Callable[[Raw], Raw]
    version: int | None
    """Told is what is after it; None: what is there now, then what follows."""
    bookmarks: bool
    timeout: float


@dataclass(eq=False, slots=True)
class Watch:
    """An open watch."""

    wish: Wish
    request: web.Request
    response: web.StreamResponse
    _store: Store
    _tampering: Callable[[], Tampering | None]
    _flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _told: int = 0
    _is_over: bool = False

    async def tell(self) -> None:
        """Tells what happens until its time is over."""
        self._flowing.set()
        loop = asyncio.get_running_loop()
        end = loop.time() + self.wish.timeout
        await self._tell_first()
        while loop.time() < end and not self._is_over:
            await self._follow(min(end, loop.time() + BOOKMARKS))
            if self._is_over:
                await self._tell_news()
            elif loop.time() < end and self.wish.bookmarks and self._flowing.is_set():
                await self.bookmark()

    async def bookmark(self, annotations: Raw | None = None) -> None:
        """Tells which version it has come to; nothing if it has not come to where it was begun."""
        if self._told > self._store.version:
            return
        metadata: Raw = {"resourceVersion": str(self._store.version)}
        if annotations:
            metadata["annotations"] = annotations
        of = {"kind": self.wish.kind, "apiVersion": self.wish.api_version}
        await self.send(line("BOOKMARK", of | {"metadata": metadata}))

    async def error(self, status: Raw) -> None:
        """Tells of an error; real API servers end the watch after that."""
        await self.send(line("ERROR", status))

    async def send(self, content: bytes) -> None:
        """Any bytes: garbage, half a line, an event that never happened."""
        await self.response.write(content)

    def stall(self) -> None:
        """Tells nothing any more, and keeps the connection."""
        self._flowing.clear()

    def resume(self) -> None:
        """Goes on where it stalled."""
        self._flowing.set()

    def end(self) -> None:
        """Ends it in order, as a server does that wants clients to come again."""
        self._is_over = True
        self._flowing.set()
        self._store.wake()

    def abort(self) -> None:
        """Cuts the connection, in the middle of whatever it was saying."""
        if self.request.transport is not None:
            self.request.transport.abort()

    async def _tell_first(self) -> None:
        if self.wish.version is not None:
            self._told = self.wish.version
            return
        self._told = self._store.version
        found = [it for it in objects(self._store, self.wish.name) if self.wish.is_selected(it)]
        await self._send_all(self._line("ADDED", it) for it in found)
        if self.wish.bookmarks:
            await self.bookmark({INITIAL_EVENTS_END: "true"})

    async def _follow(self, end: float) -> None:
        try:
            async with asyncio.timeout_at(end):
                while not self._is_over:
                    await self._flowing.wait()
                    await self._tell_news()
                    if not self._is_over and not self._store.since(self.wish.name, self._told):
                        await self._store.grow()
        except TimeoutError:
            return

    async def _tell_news(self) -> None:
        changes = self._store.since(self.wish.name, self._told)
        if not changes:
            return
        self._told = changes[-1].version
        tampering = self._tampering()
        told = tampering(changes) if tampering else changes
        await self._send_all(self._lines(told))

    async def _send_all(self, lines: Iterable[bytes]) -> None:
        if content := b"".join(lines):
            await self.send(content)

    def _lines(self, changes: Iterable[Change]) -> Iterator[bytes]:
        """A change may bring an object into the selection or take it out of it."""
        for change in changes:
            before = change.before is not None and self.wish.is_selected(change.before)
            after = change.type != "DELETED" and self.wish.is_selected(change.after)
            if after:
                yield self._line("MODIFIED" if before else "ADDED", change.after)
            elif before:
                yield self._line("DELETED", _last(change))

    def _line(self, event: str, obj: Raw) -> bytes:
        return line(event, self.wish.render(obj))


def line(event: str, obj: Raw) -> bytes:
    """One line of a watch."""
    return orjson.dumps({"type": event, "object": obj}) + b"\n"


def _last(change: Change) -> Raw:
    """How an object was when it was last seen, at the version of what took it away."""
    before = change.before or change.after
    metadata = before["metadata"] | {"resourceVersion": str(change.version)}
    return before | {"metadata": metadata}
