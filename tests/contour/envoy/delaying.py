"""A long way to a port of this machine: bytes arrive later than they were sent, and in order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def distant(port: int, delay: float) -> AsyncIterator[int]:
    """A port that leads to another; every byte takes `delay` seconds, either way."""

    serving: set[asyncio.Task[None] | None] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer), contextlib.closing(forth), contextlib.suppress(OSError):
            await asyncio.gather(_carried(reader, forth, delay), _carried(back, writer, delay))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for it in serving:
            if it is not None:
                await it


async def _carried(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
) -> None:
    """Until there is no more to carry; what is on its way is not bounded."""
    loop = asyncio.get_running_loop()
    while read := await reader.read(1 << 20):
        loop.call_later(delay, _arrive, writer, read)
    await asyncio.sleep(delay)
    writer.close()


def _arrive(writer: asyncio.StreamWriter, read: bytes) -> None:
    if not writer.is_closing():
        writer.write(read)
