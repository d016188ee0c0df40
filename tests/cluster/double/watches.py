"""An open watch: the events that it sends, and the faults that a test can cause in it.

It ends after `timeoutSeconds`, as real ones do. If the client asked for bookmarks, it gets one a
minute, as from a real API server, and whenever a test sends one.
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
    """The parameters of a watch."""

    name: Name
    kind: str
    api_version: str
    is_selected: Predicate
    render: Callable[[Raw], Raw]
    version: int | None
    """The version after which changes are sent; None sends the existing objects first."""
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
        """Sends events until its time is over."""
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
        """Sends a bookmark with the store's version; nothing if the watch began at a later
        version."""
        if self._told > self._store.version:
            return
        metadata: Raw = {"resourceVersion": str(self._store.version)}
        if annotations:
            metadata["annotations"] = annotations
        of = {"kind": self.wish.kind, "apiVersion": self.wish.api_version}
        await self.send(line("BOOKMARK", of | {"metadata": metadata}))

    async def error(self, status: Raw) -> None:
        """Sends an ERROR event, after which real API servers end the watch."""
        await self.send(line("ERROR", status))

    async def send(self, content: bytes) -> None:
        """Sends any bytes: garbage, half a line, an event that never happened."""
        await self.response.write(content)

    def stall(self) -> None:
        """Stops sending events, and keeps the connection."""
        self._flowing.clear()

    def resume(self) -> None:
        """Goes on where `stall` stopped."""
        self._flowing.set()

    def end(self) -> None:
        """Ends the watch in an orderly way, as a server does when clients should reconnect."""
        self._is_over = True
        self._flowing.set()
        self._store.wake()

    def abort(self) -> None:
        """Cuts the connection, even in the middle of an event."""
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
        """The events of changes, which may also move an object into the selection or out of it."""
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
    """The last selected state of an object, with the version of the change that removed it."""
    before = change.before or change.after
    metadata = before["metadata"] | {"resourceVersion": str(change.version)}
    return before | {"metadata": metadata}
