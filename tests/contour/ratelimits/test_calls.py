"""Calls of gRPC over HTTP/1.1: what is no call is refused or cut off, and others are answered."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from grpc import StatusCode

from contour.ratelimits.calls import MOST, Caller, Connection, Refused
from tests.contour.ratelimits import asking
from tests.contour.ratelimits.asking import Connected, framed, received


class Echo:
    """Answers with what it is sent, once `opened` is set."""

    path = asking.PATH.encode()
    too_long = b"too long"

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.opened.set()

    async def answer(self, message: bytes, _: Caller) -> bytes:
        await self.opened.wait()
        if message == b"refused":
            raise Refused(StatusCode.UNAVAILABLE, "100 % são\r\ngrpc-status: 0")
        if message == b"broken":
            raise ValueError(message)
        return message


@asynccontextmanager
async def echoing(folder: Path) -> AsyncIterator[tuple[Echo, Connected]]:
    echo = Echo()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(partial(Connection, echo), folder / "socket")
    reader, writer = await asking.connected(f"unix:{folder}/socket")
    try:
        yield echo, (reader, writer)
    finally:
        writer.close()
        server.close()


async def test_calls_follow_one_another_whatever_their_pieces(tmp_path: Path) -> None:
    async with echoing(tmp_path) as (_, (reader, writer)):
        for message in (b"one", b"", b"\0" * 5000):
            call = framed(message)
            for start in range(0, len(call), 700):
                writer.write(call[start : start + 700])
                await asyncio.sleep(0)
            assert await received(reader) == message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (framed(b"refused"), "14: 100 % são\r\ngrpc-status: 0"),
        (framed(b"broken"), "13: an error of the rate limit service"),
        (framed(b"one", "/other/Method"), "12: no such method: /other/Method"),
        (framed(b"").replace(b"\r\n5\r\n", b"\r\n4\r\n").replace(b"\0" * 5, b"\0" * 4), "13: "),
        (framed(b"").replace(b"\0" * 5, b"\1" + b"\0" * 4), "12: the message is compressed"),
        (framed(b"").replace(b"\0" * 5, b"\0" * 4 + b"\1"), "13: the body is not one message"),
    ],
)
async def test_what_is_not_answered_is_refused_and_the_next_call_is_answered(
    tmp_path: Path, call: bytes, words: str
) -> None:
    async with echoing(tmp_path) as (_, (reader, writer)):
        writer.write(call)
        with pytest.raises(asking.RefusedError) as refused:
            await received(reader)
        assert str(refused.value).startswith(words)
        writer.write(framed(b"next"))
        assert await received(reader) == b"next"


@pytest.mark.parametrize(
    "bad",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nmore",
        b"POST / HTTP/1.1\r\nx: " + b"a" * MOST,
    ],
)
async def test_what_is_no_request_or_has_too_large_a_head_is_cut_off(
    tmp_path: Path, bad: bytes
) -> None:
    async with echoing(tmp_path) as (_, (reader, writer)):
        writer.write(bad)
        with pytest.raises((EOFError, ConnectionError)):
            await received(reader)


async def test_what_is_too_long_has_an_answer_of_its_own_and_so_has_the_next_call(
    tmp_path: Path,
) -> None:
    async with echoing(tmp_path) as (_, (reader, writer)):
        for message, answer in ((b"a" * MOST, b"too long"), (b"next", b"next")):
            writer.write(framed(message))
            assert await received(reader) == answer


CHUNK = b"40\r\n" + b"a" * 64 + b"\r\n"


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", CHUNK), (b"POST /", b"a" * 64)],
    ids=["body", "target"],
)
def test_many_small_pieces_cost_no_more_than_their_bytes(start: bytes, piece: bytes) -> None:
    connection = Connection(Echo())
    begun = time.process_time()
    connection.data_received(start)
    for _ in range(110_000):
        connection.data_received(piece)
    assert time.process_time() - begun < 1


async def test_who_asks_again_before_there_is_an_answer_is_cut_off(tmp_path: Path) -> None:
    async with echoing(tmp_path) as (echo, (reader, writer)):
        echo.opened.clear()
        writer.write(framed(b"one") + framed(b"two"))
        with pytest.raises((EOFError, ConnectionError)):
            await received(reader)
        echo.opened.set()


async def test_a_connection_that_is_to_end_ends_after_the_answer(tmp_path: Path) -> None:
    async with echoing(tmp_path) as (_, (reader, writer)):
        writer.write(framed(b"last").replace(b"te: trailers", b"connection: close"))
        assert await received(reader) == b"last"
        assert not await reader.read()
