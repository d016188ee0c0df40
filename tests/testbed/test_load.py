"""Clients that wait for each answer before they send the next request."""

import asyncio

import pytest

from tests.testbed.load import Load, Request

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"backend":"a"}'


@pytest.mark.parametrize("clients", [1, 3])
async def test_so_many_clients_have_at_most_so_many_requests_open(clients: int) -> None:
    going = most = 0
    serving: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal going, most
        serving.append(asyncio.current_task())
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            going += 1
            most = max(most, going)
            await asyncio.sleep(0.02)
            going -= 1
            writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    load = Load(server.sockets[0].getsockname()[1], [Request("a.test")], 1000, clients=clients)
    async with server, load.running() as tally:
        while tally.answers["a"] < 20:
            await asyncio.sleep(0.01)
    await asyncio.gather(*filter(None, serving))
    tally.require_all("a")
    assert most == clients
