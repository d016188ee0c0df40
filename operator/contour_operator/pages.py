"""The operator's pages for kubelets and Prometheus: liveness, readiness, metrics.

Ready means that it leads and knows the cluster, or waits to lead. An unreachable API server is no
reason to restart the process, so it does not affect `/healthz`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web

from observability.connections import Limits, Server
from observability.exposition import Page

_METHODS = ("GET", "HEAD")


class Site(NamedTuple):
    """The address and port of the pages."""

    address: str
    port: int


@asynccontextmanager
async def served(
    site: Site | None, is_ready: Callable[[], bool], more: Mapping[str, Page]
) -> AsyncGenerator[None]:
    """Serves the pages while the block runs, if there is a site. OSError if its port is taken."""
    if site is None:
        yield
        return

    async def healthz(_: web.BaseRequest) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.BaseRequest) -> web.Response:
        found = is_ready()
        return web.Response(text="ok\n" if found else "starting\n", status=200 if found else 503)

    pages: dict[str, Page] = {"/healthz": healthz, "/readyz": readyz, **more}

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        page = pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="there is no such page\n")
        if request.method not in _METHODS:
            return web.Response(status=405, headers={"allow": ", ".join(_METHODS)})
        return await page(request)

    runner = web.ServerRunner(Server(answer, Limits()), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, site.address, site.port).start()
        yield
    finally:
        await runner.cleanup()
