"""Servers of a test's own event loop that leave no connection behind.

`web.AppRunner` and `asyncio.Server` close connections without waiting until they are closed: one
that has something to send, or that waits for the end of TLS, can outlive the event loop. Python
then reports it as a ResourceWarning, in whichever test runs when it is collected.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

_LAST_ANSWERS = 0.1  # seconds that requests have to be answered once the server is to end
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def pages(
    application: web.Application,
    address: str = "127.0.0.1",
    port: int = 0,
    secured: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Serves HTTP/1.1 while the block runs; yields the port, a free one by default."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_LAST_ANSWERS)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port, ssl_context=secured).start()
        yield int(runner.addresses[0][1])
    finally:
        await end(runner)


async def end(runner: web.AppRunner) -> None:
    """Ends a server and its connections, whatever they still have to send or to wait for."""
    for site in tuple(runner.sites):
        await _accept_no_more(site)
        await site.stop()
    connections = runner.server.connections if runner.server else []
    transports = [it.transport for it in connections if it.transport]  # it forgets them
    await runner.cleanup()
    for it in transports:
        it.abort()
    await _a_moment()


async def _accept_no_more(site: web.BaseSite) -> None:
    """Stops accepting; sockets that were just accepted become connections of the server.

    If the server is closed before, asyncio (3.11) makes a transport that nobody closes.
    """
    server: asyncio.Server | None = getattr(site, "_server", None)
    for it in server.sockets if server else ():
        asyncio.get_running_loop().remove_reader(it.fileno())
    await _a_moment()


async def _a_moment() -> None:
    """Waits until the event loop has done all that is due, and what follows from it."""
    for _ in range(3):
        await asyncio.sleep(0)


@asynccontextmanager
async def streams(answer: Answer, secured: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Handles every connection while the block runs, and closes it afterwards; yields the free
    port."""
    going: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        going[task] = writer
        try:
            await answer(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the peer is gone, or the server ends
        finally:
            writer.transport.abort()
            del going[task]

    async with await asyncio.start_server(connected, "127.0.0.1", 0, ssl=secured) as server:
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            for task in (ending := dict(going)):
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            closed = (it.wait_closed() for it in ending.values())
            await asyncio.gather(*closed, return_exceptions=True)
