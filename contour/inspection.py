"""The inspection socket: what a running instance tells about itself, to its own user only.

A Unix socket in the state directory, so that its protection is the directory's. `contour status`
reads it. It answers from what is known already; a question costs the instance a listing, never a
rebuild.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

SOCKET = "inspect.sock"

PageContent = Callable[[], Any]
"""What a page shows, as plain data."""


@asynccontextmanager
async def served(socket: Path, pages: dict[str, PageContent]) -> AsyncGenerator[None]:
    """Serves pages by name while the context lasts."""
    application = web.Application()
    for name, page in pages.items():
        application.router.add_get(f"/{name}", _answering(page))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        socket.unlink(missing_ok=True)
        await web.UnixSite(runner, str(socket)).start()
        socket.chmod(0o600)
        yield
    finally:
        await runner.cleanup()


async def page(socket: Path, name: str) -> Any:
    """Asks a running instance. Raises OSError if there is none."""
    async with (
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(path=str(socket))) as session,
        session.get(f"http://inspect/{name}") as response,
    ):
        response.raise_for_status()
        return await response.json()


def _answering(page: PageContent) -> Callable[[web.Request], Any]:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(page())

    return answer
