"""Follows one collection of objects: lists it, then watches it, and starts again after any failure.

For callers that need the current objects. They get only changes (`versioncache`). What follows the
end of a watch depends on its cause: after an orderly end or a lost connection it continues where it
was; an expired version, or one that has gone back, makes a new list; a missing right is retried
slowly; and a resource that is no longer served has no objects until it is served again.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kube import backoff, errors, health, listing, versioncache, watching
from kube.client import LIST_TIMEOUT, Client
from kube.discovery import Discovery, Wanted
from kube.resources import Resource


class EventHandler(Protocol):
    """Receives what happens to a collection."""

    def on_deltas(self, news: Sequence[versioncache.Delta]) -> None:
        """These objects are new, changed or gone."""

    def on_error(self, message: str) -> None:
        """Why the collection could not be followed for a while; empty: it is followed again."""


MOST_BROKEN = 3  # broken watches in a row after which a new list is made


class Timings(NamedTuple):
    """How long things may take, in seconds."""

    first_pause: float = 0.2
    longest_pause: float = 8.0
    idle: float = 70.0  # an API server sends a bookmark about every minute
    listing: float = LIST_TIMEOUT  # for one page
    check: float = 10.0  # for reading the current resourceVersion of a server
    shortest_watch: float = 290.0
    longest_watch: float = 590.0
    calm: float = 5.0  # a watch that lasted this long counts as successful
    absent: float = 3.0  # until discovery is asked again
    denied: float = 10.0  # until a forbidden request is tried again
    grace: float = 5.0  # a starting API server may refuse what it will permit later
    audit: float = 3600.0  # a new list though nothing seems wrong
    page: int = 500  # objects


class Collection(NamedTuple):
    """The collection to follow."""

    wanted: Wanted
    namespace: str = ""
    """Empty for all namespaces."""
    params: Mapping[str, str] = MappingProxyType({})
    """Selectors, so that objects nobody needs are not sent."""


class Reflector:
    """Reports all objects of a collection to a handler, and every change of them."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        collection: Collection,
        handler: EventHandler,
        timings: Timings | None = None,
    ) -> None:
        self.state = health.State()
        self.resource: Resource | None = None
        """The resource that is followed; None while it is not served."""
        self.settled = asyncio.Event()
        """Set once the collection is listed, or known to be absent or denied."""
        self.on_presence: Callable[[bool], None] = lambda _: None
        """Called with whether the server has the resource, before its objects change by that."""
        self._client = client
        self._discovery = discovery
        self._wanted, self._namespace, self._params = collection
        self._handler = handler
        self._timings = timings = timings or Timings()
        self._health = health.Health(self.state, timings.grace, handler.on_error)
        self._backoff = backoff.Backoff(timings.first_pause, timings.longest_pause)
        self._cache = versioncache.VersionCache()
        self._is_guess = False
        self._is_missed = False
        self._is_due = True
        self._audit_at = 0.0
        self._broken = 0

    async def run(self) -> None:
        """Never ends."""
        try:
            while True:
                await self._attempt()
        finally:
            self._health.close()

    async def _attempt(self) -> None:
        """One list or watch, and the pause after it."""
        try:
            await self._rest(await self._turn())
        except errors.RequestError as error:
            pause = self._failed(error)
            if isinstance(error, errors.Refused) and error.retry_after is not None:
                await asyncio.sleep(pause)  # as the server demands
            else:
                await self._rest(pause)

    async def _rest(self, pause: float) -> None:
        """Waits for the next turn, but not beyond the end of an outage of the server."""
        if pause and await self._client.reachability.pause(pause):
            self._backoff.reset()

    async def _turn(self) -> float:
        """Lists if needed, and watches until that ends; returns how long to wait then."""
        if self.resource is None:
            await self._locate()
        if self.resource is None:
            return self._vanish()
        path = self.resource.path(self._namespace)
        if self._is_due or _now() >= self._audit_at or await self._has_gone_back(path):
            await self._list(path)
        return await self._watch(path)

    async def _locate(self) -> None:
        try:
            self.resource = await self._discovery.resource(self._wanted)
            self._is_guess = False
        except errors.Refused as error:
            if error.code != 403:
                raise
            self.resource, self._is_guess = self._wanted.resources[0], True

    def _vanish(self) -> float:
        """Drops the objects of a resource that is not served, at the second look: a starting API
        server may not know all of its resources yet."""
        self.resource, self._is_due = None, True
        if len(self._cache) == 0 or self._is_missed:
            self.on_presence(False)
            self._tell(self._cache.clear())
            self._is_missed = False
            self._health.is_absent(f"{self._wanted.resources[0]} is not served by the API server")
            self.settled.set()
        else:
            self._is_missed = True
        return backoff.jittered(self._timings.absent)

    async def _list(self, path: str) -> None:
        """Lists the collection; if a page expires, once more, and then as one page."""
        for limit in (self._timings.page, self._timings.page, 0):
            try:
                await self._read_pages(path, limit)
                break
            except errors.Refused as error:
                if error.code != 410 or limit == 0:
                    raise
        self.on_presence(True)
        self._is_due, self._broken = False, 0
        self._audit_at = _now() + backoff.jittered(self._timings.audit)
        self.state.is_listed = True
        self.settled.set()

    async def _read_pages(self, path: str, limit: int) -> None:
        self.state.lists += 1
        options = listing.ListOptions(path, self._params, limit, self._timings.listing)
        first = page = await listing.page(self._client, options)
        under_way = self._cache.listing(first.version)
        self._tell(under_way.page(page.items))
        while page.token:
            page = await listing.page(self._client, options, page.token)
            self._tell(under_way.page(page.items))
        self.state.event = 0
        self._tell(self._cache.finish(first.version, under_way))

    async def _has_gone_back(self, path: str) -> bool:
        """Whether the server was restored from a backup: its watches would be silent until it has
        caught up with our version. It answers, so the list can follow at once."""
        # A right may be for one name only. With a label selector the server would read everything.
        fields = {key: it for key, it in self._params.items() if key == "fieldSelector"}
        params = {**fields, "limit": "1"}
        found = await self._client.get(path, params, timeout=self._timings.check)
        try:
            self._cache.reach(listing.version(found))
        except versioncache.ResourceVersionDecreased:
            self._is_due = True
        return self._is_due

    async def _watch(self, path: str) -> float:
        timings, began = self._timings, _now()
        seconds = int(random.uniform(timings.shortest_watch, timings.longest_watch))
        params = {
            **self._params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._cache.position,
            "timeoutSeconds": str(max(1, seconds)),
        }
        self.state.watches += 1
        try:
            async with aclosing(
                watching.events(self._client, path, params, timings.idle)
            ) as events:
                async for arrived in events:
                    self._is_missed = False
                    self._health.is_well()
                    self._hear(arrived)
        finally:
            lived = _now() - began
            if lived >= timings.calm:
                self._backoff.reset()
        return 0.0 if lived >= timings.calm else self._backoff.next()

    def _hear(self, arrived: Sequence[watching.Event]) -> None:
        news: list[versioncache.Delta] = []
        try:
            for event in arrived:
                self.state.events += 1
                self.state.bytes += event.size
                if (found := self._news(event)) is not None:
                    news.append(found)
        finally:  # what the cache has taken must be reported, whatever follows
            self._tell(news)

    def _news(self, event: watching.Event) -> versioncache.Delta | None:
        if event.sort == "BOOKMARK":
            self._cache.bookmark(listing.version(event.object))
            return None
        self._broken = 0
        version = versioncache.number(listing.version(event.object))
        self.state.event = max(self.state.event, version)
        if event.sort == "DELETED":
            return self._cache.deleted(event.object)
        return self._cache.changed(event.object)

    def _tell(self, news: Sequence[versioncache.Delta]) -> None:
        if news:
            self.state.last_event = _now()
            self._handler.on_deltas(news)
        self.state.objects, self.state.known = (
            len(self._cache),
            versioncache.number(self._cache.position),
        )

    def _failed(self, error: errors.RequestError) -> float:
        """Decides what the next turn has to do differently; returns how long to wait before it."""
        self._health.is_ill(error)
        if isinstance(error, errors.Refused):
            return self._refused(error)
        if isinstance(error, watching.Broken):
            self._broken += 1
        if isinstance(error, versioncache.ResourceVersionDecreased) or self._broken >= MOST_BROKEN:
            self._is_due = True
        return self._backoff.next()

    def _refused(self, error: errors.Refused) -> float:
        match error.code:
            case 401 | 403:
                return self._denied(error)
            case 404:
                self.resource = None
                if self._is_guess:
                    return self._vanish()
            case 408 | 429 | 500 | 502 | 503 | 504:
                pass
            case _:
                self._is_due = True
        return self._backoff.next(min(error.retry_after or 0.0, self._timings.longest_watch))

    def _denied(self, error: errors.Refused) -> float:
        """Listed objects stay; once the denial is known to last, nothing waits for the list."""
        self._is_due = True
        if not self.state.trouble:
            return self._backoff.next()
        if error.code == 403:
            self.settled.set()
        return backoff.jittered(self._timings.denied)


def _now() -> float:
    return asyncio.get_running_loop().time()
