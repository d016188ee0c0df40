"""The sockets of the pages, which can be moved while the process runs.

A new socket is opened before the old one is closed, unless the old one is in its way. If a socket
cannot be opened, the one that it should replace stays, and it is tried again with every update; so
a typing error in an address makes no probe fail.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from contour.pages import certificates, rebinding
from contour.pages.settings import ListenAddress, Purpose, Sites
from observability.connections import Limits, Server

log = logging.getLogger(__name__)


Page = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Answers:
    """A page that answers posted questions, and cannot be read without one."""

    page: Page


Pages = Mapping[str, Page | Answers]
"""By path."""

_OF_PEOPLE = frozenset[Purpose]({"debug"})
"""Purposes for people: neither probes nor scrapers request these pages, and no web site may."""
_LAST_ANSWERS = 1.0  # seconds for requests that are in progress when a socket closes


@dataclass(slots=True, eq=False)
class OpenSocket:
    """One open socket, whose purposes may change while it is open."""

    purposes: frozenset[Purpose]
    runner: web.ServerRunner


@dataclass(slots=True)
class Listeners:
    """All sockets of the pages."""

    pages: Mapping[Purpose, Pages]
    level: int = logging.INFO
    """The level of log messages about opening and closing sockets."""
    limits: Limits = field(default_factory=Limits)
    _open: dict[ListenAddress, OpenSocket] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def port(self, purpose: Purpose) -> int | None:
        """The port of a purpose; None if it is not served."""
        found = (it.runner for it in self._open.values() if purpose in it.purposes)
        return next((int(it.addresses[0][1]) for it in found), None)

    async def update(self, wanted: Sites) -> tuple[str, ...]:
        """Listens at these sites only. Returns what could not be done, and why."""
        async with self._turn:
            failures: dict[ListenAddress, str] = {}
            for site in sorted(wanted.purposes.keys() - self._open.keys(), key=str):
                failure = await self._replace(site, wanted.purposes[site])
                if failure:
                    failures[site] = failure
            homeless = frozenset[Purpose]().union(*(wanted.purposes[it] for it in failures))
            for site, listener in list(self._open.items()):
                kept = listener.purposes & homeless
                listener.purposes = wanted.purposes.get(site, frozenset()) | kept
                if not listener.purposes:
                    await self._shut(site)
            return (*wanted.problems, *failures.values())

    async def close(self) -> None:
        """Closes all of them."""
        await self.update(Sites({}))

    async def _replace(self, site: ListenAddress, purposes: frozenset[Purpose]) -> str:
        """Opens a socket in place of those that are in its way. Returns the reason if that
        fails."""
        in_the_way = {it: self._open[it].purposes for it in self._open if it.overlaps(site)}
        for it in in_the_way:
            await self._shut(it)
        failure = await self._try(site, purposes)
        for it, before in in_the_way.items() if failure else ():
            if again := await self._try(it, before):
                log.error("%s", again)
        return failure

    async def _try(self, site: ListenAddress, purposes: frozenset[Purpose]) -> str:
        server = Server(lambda request: self._answer(site, request), self.limits)
        runner = web.ServerRunner(server, access_log=None, shutdown_timeout=_LAST_ANSWERS)
        await runner.setup()
        try:
            tls = certificates.context(site.tls) if site.tls else None
            await web.TCPSite(runner, site.address, site.port, ssl_context=tls).start()
        except (OSError, ssl.SSLError) as error:
            await runner.cleanup()
            return f"cannot listen on {site}: {error}"
        self._open[site] = OpenSocket(purposes, runner)
        log.log(self.level, "listening on %s", site)
        return ""

    async def _shut(self, site: ListenAddress) -> None:
        await self._open.pop(site).runner.cleanup()
        log.log(self.level, "no longer listening on %s", site)

    async def _answer(self, site: ListenAddress, request: web.BaseRequest) -> web.StreamResponse:
        listener = self._open.get(site)
        for purpose in sorted(listener.purposes) if listener else ():
            found = self.pages.get(purpose, {}).get(request.path)
            if found is None:
                continue
            if purpose in _OF_PEOPLE and (refusal := _refusal(request.headers)) is not None:
                return refusal
            allowed = ("POST",) if isinstance(found, Answers) else ("GET", "HEAD")
            if request.method not in allowed:
                return web.Response(status=405, headers={"allow": ", ".join(allowed)})
            return await (found.page if isinstance(found, Answers) else found)(request)
        return web.Response(status=404, text="there is no such page\n")


def _refusal(headers: Mapping[str, str]) -> web.Response | None:
    """The answer to what a web site makes a browser send."""
    if not rebinding.is_local(headers.get("Host", "")):
        words = "this page is shown by an IP address or by localhost\n"
        return web.Response(status=421, text=words)
    if rebinding.is_of_other_site(headers):
        return web.Response(status=403, text="this page is not for other web sites\n")
    return None
