"""An HTTPS server of JSON Web Key Sets: its answers are set by path, and may change."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from queue import Queue
from threading import Thread

from aiohttp import web

from tests.testbed import certificates, webservers
from tests.testbed.certificates import Pair


@dataclass
class KeyServer:
    """Its answers, and how often each was requested."""

    answers: dict[str, web.Response | bytes | float]
    """By path: a body, a whole response, or the seconds after which it answers nothing."""
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        found = self.answers.get(request.path, web.Response(status=404))
        if isinstance(found, float):
            await asyncio.sleep(found)
            return web.Response(status=503)
        if isinstance(found, web.Response):
            return web.Response(status=found.status, headers=found.headers)
        return web.Response(body=found)


@asynccontextmanager
async def serving(
    answers: Mapping[str, web.Response | bytes | float], shown: Pair | None, address: str
) -> AsyncGenerator[KeyServer]:
    """Serves with this certificate, or without TLS."""
    server = KeyServer(dict(answers))
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    tls = None
    if shown is not None:
        tls = certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), shown)
    async with webservers.pages(application, address, server.port, tls) as server.port:
        yield server


@contextmanager
def in_thread(
    answers: Mapping[str, web.Response | bytes | float], shown: Pair | None, address: str
) -> Generator[KeyServer]:
    """The same in a thread, for a test that has no event loop."""
    running: Queue[tuple[KeyServer, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def run() -> None:
        async with serving(answers, shown, address) as found:
            over = asyncio.Event()
            running.put((found, asyncio.get_running_loop(), over))
            await over.wait()

    thread = Thread(target=asyncio.run, args=(run(),))
    thread.start()
    found, loop, over = running.get(timeout=30)
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
