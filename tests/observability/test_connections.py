"""Clients that hold connections, on real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from contour.pages.listeners import Listeners
from contour.pages.settings import ListenAddress, Sites
from observability.connections import Limits
from tests.testbed.patience import PATIENCE

REQUEST = b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, text: bytes) -> None:
        self._writer.write(text)

    async def ask(self, page: bytes = b"quick") -> bool:
        """Whether a request is answered."""
        self.send(REQUEST % page)
        return await self.answer()

    async def answer(self) -> bool:
        async with asyncio.timeout(PATIENCE):
            return (await self._reader.readuntil(b"done")).startswith(b"HTTP/1.1 200 ")

    async def is_ended(self) -> bool:
        """Waits until the server ends the connection."""
        try:
            async with asyncio.timeout(PATIENCE):
                return not await self._reader.read()
        except ConnectionError:
            return True


class Served:
    """A socket with a page that is answered at once, and one that is when `go` is set."""

    def __init__(self, limits: Limits) -> None:
        self.go, self.begun = asyncio.Event(), asyncio.Semaphore(0)
        pages = {"/quick": self._quick, "/slow": self._slow}
        self.listeners = Listeners({"health": pages}, limits=limits)
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> Client:
        port = self.listeners.port("health")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self._writers.append(writer)
        return Client(reader, writer)

    async def connect_slow(self) -> Client:
        """One whose request is being answered."""
        made = await self.connect()
        made.send(REQUEST % b"slow")
        await self.begun.acquire()
        return made

    def close(self) -> None:
        self.go.set()
        for it in self._writers:
            it.close()

    async def _quick(self, _: web.BaseRequest) -> web.Response:
        return web.Response(text="done")

    async def _slow(self, _: web.BaseRequest) -> web.Response:
        self.begun.release()
        await self.go.wait()
        return web.Response(text="done")


@asynccontextmanager
async def serving(limits: Limits) -> AsyncIterator[Served]:
    made = Served(limits)
    await made.listeners.update(Sites({ListenAddress("127.0.0.1", 0): frozenset({"health"})}))
    try:
        yield made
    finally:
        made.close()
        await made.listeners.close()


async def test_clients_that_ask_for_nothing_make_room_for_those_that_do() -> None:
    async with serving(Limits(connections=3)) as it:
        first, second, third = [await it.connect() for _ in range(3)]
        assert await first.ask()  # so the second has waited longest
        assert await (await it.connect()).ask()
        assert await second.is_ended()
        assert await first.ask()
        assert await third.ask()


async def test_half_a_request_is_none() -> None:
    async with serving(Limits(connections=1)) as it:
        half = await it.connect()
        half.send(b"GET /quick HTTP/1.1\r\nHost: ")
        assert await (await it.connect()).ask()
        assert await half.is_ended()


async def test_an_answer_that_is_being_made_is_not_cut_off() -> None:
    async with serving(Limits(connections=2)) as it:
        slow, idle = await it.connect_slow(), await it.connect()
        assert await (await it.connect()).ask()
        assert await idle.is_ended()
        it.go.set()
        assert await slow.answer()


async def test_where_all_wait_for_answers_the_oldest_makes_room() -> None:
    async with serving(Limits(connections=2)) as it:
        oldest, other = await it.connect_slow(), await it.connect_slow()
        assert await (await it.connect()).ask()
        assert await oldest.is_ended()
        it.go.set()
        assert await other.answer()


async def test_who_asks_for_nothing_is_not_waited_for() -> None:
    async with serving(Limits(idle=0.2)) as it:
        silent, half, asked = [await it.connect() for _ in range(3)]
        half.send(b"GET /quick HTTP/1.1\r\nHost: ")
        assert await asked.ask()
        for client in (silent, half, asked):
            assert await client.is_ended()
