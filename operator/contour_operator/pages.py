"""What a kubelet and Prometheus ask the operator: does it live, is it ready, how does it do?

Ready means that it leads and knows the cluster, or waits for its turn. An API server that is away
is no reason to end the process, so that it does not matter to `/healthz`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web

from showing.exposition import Page


class Site(NamedTuple):
    """Where the pages are."""

    address: str
    port: int


@asynccontextmanager
async def served(
    site: Site | None, is_ready: Callable[[], bool], more: Mapping[str, Page]
) -> AsyncGenerator[None]:
    """While the block runs; nowhere if there is no site. Raises OSError if it is taken."""
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
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, site.address, site.port).start()
        yield
    finally:
        await runner.cleanup()
