"""Tells an open page that something has changed: server-sent events (HTML standard, 9.2).

Nothing is recorded when something changes. For each open page, counters that exist anyway are
compared twice a second, so a change costs the same whether or not somebody watches.
"""

import asyncio

from aiohttp import web

from contour.dashboard import access
from contour.instance import Instance

_PAUSE = 0.5
"""Seconds between two comparisons."""
_SILENCE = 30
"""Comparisons without a change after which a comment is sent, so that the connection is not taken
for idle."""
MOST = 50
"""Open pages that are notified at a time; further ones are refused, and say so."""


class Changes:
    """Notifies the open pages of one instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._watching = 0

    async def page(self, request: web.BaseRequest) -> web.StreamResponse:
        """A stream of events `changed`, one for each comparison that finds a change."""
        if self._watching >= MOST:
            return web.Response(status=503, text=f"{MOST} pages are open already\n")
        headers = {**access.HEADERS, "Content-Type": "text/event-stream"}
        if request.method == "HEAD":  # it ends with its headers
            return web.Response(headers=headers)
        response = web.StreamResponse(headers=headers)
        self._watching += 1
        try:
            await response.prepare(request)
            await self._tell(response)
        except ConnectionError:
            pass  # the page was closed
        finally:
            self._watching -= 1
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        seen, silent = self._state(), 0
        await response.write(b"retry: 1000\nevent: changed\ndata: first\n\n")
        while True:
            await asyncio.sleep(_PAUSE)
            found = self._state()
            if found != seen:
                seen, silent = found, 0
                await response.write(b"event: changed\ndata: again\n\n")
            elif (silent := silent + 1) >= _SILENCE:
                silent = 0
                await response.write(b": nothing new\n\n")

    def _state(self) -> tuple[int, ...]:
        """Counters, of which at least one changes with whatever the pages show."""
        server = self._instance.server
        fleets = (*server.fleets.values(), *server.by_node.values())
        controller = self._instance.controller
        runs, replaced = controller.engine.work.runs, controller.board.replaced
        heard = sum(sum(it.counts.values()) for it in fleets)
        return runs, replaced, heard, sum(len(it.envoys) for it in fleets)
