"""A server that has ended leaves no connection open, not even to a client that reads nothing."""

import asyncio
import gc
import socket
import ssl

import pytest
from aiohttp import web

from tests.testbed import certificates, webservers

MUCH = b"x" * (1 << 24)  # more than a socket takes


def application() -> web.Application:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        assert request.transport is not None
        request.transport.write(MUCH)
        return response

    found = web.Application()
    found.router.add_get("/", answer)
    return found


def asked(port: int, secured: ssl.SSLContext | None) -> socket.socket:
    """A connection on which an answer has begun, and whose client reads no further."""
    found = socket.create_connection(("127.0.0.1", port))
    if secured is not None:
        found = secured.wrap_socket(found)
    found.sendall(b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n")
    assert found.recv(1)
    return found


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    pair = certificates.authority("server")
    theirs = ssl.create_default_context()
    theirs.check_hostname, theirs.verify_mode = False, ssl.CERT_NONE
    return certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair), theirs


@pytest.mark.parametrize("is_secured", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("is_http", [False, True], ids=["streams", "pages"])
def test_nothing_is_left_of_its_connections(is_http: bool, is_secured: bool) -> None:
    ours, theirs = contexts() if is_secured else (None, None)

    async def greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(MUCH)

    async def run() -> socket.socket:
        serving = (
            webservers.pages(application(), secured=ours)
            if is_http
            else webservers.streams(greeted, ours)
        )
        async with serving as port:
            return await asyncio.to_thread(asked, port, theirs)

    with asyncio.run(run()):
        gc.collect()  # a connection that is not closed is told now


@pytest.mark.parametrize("turns", range(8))
def test_a_connection_that_comes_when_the_server_ends_is_closed(turns: int) -> None:
    async def run() -> socket.socket:
        async with webservers.pages(application()) as port:
            await asyncio.sleep(0)
            coming = socket.create_connection(("127.0.0.1", port))
            for _ in range(turns):  # of the event loop, which does a part of the accepting in each
                await asyncio.sleep(0)
        return coming

    with asyncio.run(run()):
        gc.collect()  # a connection that is not closed is told now


async def test_a_port_that_is_served_no_more_refuses_connections() -> None:
    async with webservers.pages(application()) as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
