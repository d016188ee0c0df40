"""The inspection socket, on which a running instance answers its own user only.

It is a Unix socket in the state directory, which protects it. `contour status` reads it. Answers
come from what is already known: a question costs the instance a listing, never a rebuild.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
from aiohttp import web

from contour import turns

PageContent = Callable[[], object]
"""What a page shows, as plain data."""

Walk = Callable[[], Iterator[object | None]]
"""Makes the entries of a page step by step, None where a step finds nothing; other tasks run on the
event loop in between."""

Question = Callable[[str], object]
"""The answer to a question, as plain data; raises ValueError if the question makes no sense."""


@asynccontextmanager
async def served(
    socket: Path,
    pages: Mapping[str, PageContent],
    walks: Mapping[str, Walk],
    questions: Mapping[str, Question],
) -> AsyncGenerator[None]:
    """Serves pages and answers questions by name while the context lasts."""
    application = web.Application()
    for name, page in pages.items():
        application.router.add_get(f"/{name}", _answering(page))
    for name, walk in walks.items():
        application.router.add_get(f"/{name}", walked(walk))
    for name, question in questions.items():
        application.router.add_post(f"/{name}", asked(question))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        socket.unlink(missing_ok=True)
        await web.UnixSite(runner, str(socket)).start()
        socket.chmod(0o600)
        yield
    finally:
        await runner.cleanup()


def asked(question: Question) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """Answers posted questions; 400 with the reason if one makes no sense."""

    async def answer(request: web.BaseRequest) -> web.Response:
        try:
            return web.json_response(question(await request.text()))
        except ValueError as error:
            return web.Response(status=400, text=str(error))

    return answer


def _answering(page: PageContent) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(page())

    return answer


def walked(walk: Walk) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """Lists the entries; other tasks run in between."""

    async def listed(_: web.BaseRequest) -> web.Response:
        found = await turns.collected(_encoded(walk()))
        return web.Response(body=b"[" + b",".join(found) + b"]", content_type="application/json")

    return listed


def fragment(part: dict[str, object]) -> orjson.Fragment:
    """Encodes a part of a large entry, so that no step encodes all of that."""
    return orjson.Fragment(orjson.dumps(part))


def _encoded(walk: Iterator[object | None]) -> Iterator[bytes | None]:
    """Encodes the entries one by one, because encoding all at once would take as long as a walk."""
    return (None if it is None else orjson.dumps(it) for it in walk)
