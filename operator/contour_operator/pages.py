"""The operator's pages for kubelets and Prometheus: liveness, readiness, metrics.

Ready means that it leads and knows the cluster, or waits to lead. An unreachable API server is no
reason to restart the process, so it does not affect `/healthz`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web

from showing import requests
from showing.exposition import Page


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

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        found = is_ready()
        return web.Response(text="ok\n" if found else "starting\n", status=200 if found else 503)

    application = web.Application()
    pages = {"/healthz": healthz, "/readyz": readyz, **more}
    application.add_routes([web.get(path, page) for path, page in pages.items()])
    runner = web.AppRunner(application, access_log=None, logger=requests.log)
    await runner.setup()
    try:
        await web.TCPSite(runner, site.address, site.port).start()
        yield
    finally:
        await runner.cleanup()
