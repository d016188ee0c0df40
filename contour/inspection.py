"""The inspection socket: what a running instance tells about itself, to its own user only.

A Unix socket in the state directory, so that its protection is the directory's. `contour status`
reads it. It answers from what is known already; a question costs the instance a listing, never a
rebuild.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

PageContent = Callable[[], object]
"""What a page shows, as plain data."""

Question = Callable[[str], object]
"""The answer to a question, as plain data; raises ValueError if the question makes no sense."""


@asynccontextmanager
async def served(
    socket: Path, pages: Mapping[str, PageContent], questions: Mapping[str, Question]
) -> AsyncGenerator[None]:
    """Serves pages and answers questions by name while the context lasts."""
    application = web.Application()
    for name, page in pages.items():
        application.router.add_get(f"/{name}", _answering(page))
    for name, question in questions.items():
        application.router.add_post(f"/{name}", _asked(question))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        socket.unlink(missing_ok=True)
        await web.UnixSite(runner, str(socket)).start()
        socket.chmod(0o600)
        yield
    finally:
        await runner.cleanup()


def _asked(question: Question) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def told(request: web.Request) -> web.Response:
        try:
            return web.json_response(question(await request.text()))
        except ValueError as error:
            return web.Response(status=400, text=str(error))

    return told


def _answering(page: PageContent) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(page())

    return answer
