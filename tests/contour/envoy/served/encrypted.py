"""Servers that speak TLS, and requests to them, for those who check and are checked."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from tests.testbed import certificates, webservers
from tests.testbed.certificates import Pair, known_authority
from tests.testbed.patience import PATIENCE


@cache
def issued(by: str, name: str) -> Pair:
    """A certificate for a DNS name, made once a run."""
    return certificates.issued(known_authority(by), name)


@asynccontextmanager
async def serving(pair: Pair, clients: str = "") -> AsyncIterator[int]:
    """A server that answers every line with what it was told: `name asked for|client's name`.

    It asks for certificates of an authority, if one is named.
    """
    context = certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
    names: dict[int, str] = {}

    def remember(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        names[id(connection)] = name or ""

    context.sni_callback = remember
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=known_authority(clients).pem.decode())

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("ssl_object")
        peer = connection.getpeercert() or {}
        common = dict(it[0] for it in peer.get("subject", ())).get("commonName", "")
        body = f"{names.get(id(connection), '')}|{common}"
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()

    async with webservers.streams(answer, context) as port:
        yield port


async def get(port: int, name: str, client: Pair | None = None) -> str | None:
    """The whole answer to a request over TLS; None if the connection is refused."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if client is not None:
        certificates.show(context, client)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=context, server_hostname=name or None
            )
            writer.write(f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode())
            found = await reader.read()
            writer.close()
    except (ConnectionError, ssl.SSLError):
        return None
    return found.decode() or None
