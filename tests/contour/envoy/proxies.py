"""A real Envoy with the product's bootstrap, told by a real server, and a client for it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import aiohttp

from contour import bootstrap
from contour.host import installation
from contour.xds.server import Server
from tests.contour.envoy import world
from tests.testbed.patience import PATIENCE


class Proxy:
    """An Envoy, and the world it is told about."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.world = world.World()
        self.fleet = server.fleet(world.FLEET)
        self._server = server
        self.folder = folder

    async def publish(self) -> None:
        self.fleet.publish(self.world.settle())

    async def start(self) -> None:
        await self._server.start()

    async def admin(self, page: str) -> str:
        connector = aiohttp.UnixConnector(str(self.folder / "admin"))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(f"http://admin/{page}") as answer,
        ):
            return await answer.text()

    async def counter(self, name: str) -> int:
        found = await self.admin(f"stats?filter=^{name}$")
        return int(found.rpartition(":")[2]) if found.strip() else 0

    def log(self) -> str:
        return (self.folder / "envoy.log").read_text()


@asynccontextmanager
async def proxy(folder: Path) -> AsyncIterator[Proxy]:
    """Runs while the block does. Nothing is served until `start`; drains last one second."""
    xds = folder / "xds"
    given = bootstrap.Settings(
        node="one",
        fleet=world.FLEET,
        control_plane=bootstrap.Pipe(xds),
        admin=folder / "admin",
    )
    (folder / "bootstrap.json").write_text(bootstrap.text(given))
    server = Server((f"unix:{xds}",))
    process = await asyncio.create_subprocess_exec(
        *(str(installation.binary()), "-c", str(folder / "bootstrap.json"), "--concurrency", "1"),
        *("--use-dynamic-base-id", "--drain-time-s", "1"),
        *("-l", "warning", "--log-path", str(folder / "envoy.log")),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        with world.nodes_as_rows():
            yield Proxy(server, folder)
    finally:
        process.kill()
        await process.wait()
        await server.stop(0)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: str


async def ask(
    port: int,
    host: str,
    path: str = "/",
    sni: str | None = None,
    method: str = "GET",
    **headers: str,
) -> Answer | None:
    """One request on a connection of its own; with a server name, over TLS; None if refused."""
    async with asyncio.timeout(PATIENCE):
        return await _asked(port, f"{method} {path}", sni, {"host": host, **headers})


async def send(port: int, host: str, body: str, path: str = "/", **headers: str) -> Answer | None:
    """One request with a body, on plain HTTP."""
    length = {"host": host, "content-length": str(len(body)), **headers}
    async with asyncio.timeout(PATIENCE):
        return await _asked(port, f"POST {path}", None, length, body)


async def _asked(
    port: int, line: str, sni: str | None, headers: Mapping[str, str], body: str = ""
) -> Answer | None:
    try:
        reader, writer = await connection(port, sni)
    except (ConnectionError, ssl.SSLError):
        return None
    written = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"{line} HTTP/1.1\r\n{written}connection: close\r\n\r\n{body}".encode())
    try:
        return await answer(reader)
    except (ConnectionError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.close()


async def connection(
    port: int, sni: str | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection; with a server name, over TLS."""
    if sni is None:
        return await asyncio.open_connection("127.0.0.1", port)
    return await asyncio.open_connection(
        "127.0.0.1", port, ssl=_unverified(), server_hostname=sni or None
    )


async def certificate(port: int, sni: str) -> bytes:
    """The certificate that a connection for this name is shown, PEM."""
    _, writer = await connection(port, sni)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return ssl.DER_cert_to_PEM_cert(shown).encode()


@cache
def _unverified() -> ssl.SSLContext:
    result = ssl.create_default_context()
    result.check_hostname = False
    result.verify_mode = ssl.CERT_NONE
    return result


async def answer(reader: asyncio.StreamReader) -> Answer:
    """The next answer on a connection of HTTP/1.1."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.rstrip().split("\r\n")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in lines):
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    # Envoy closes a second after an answer of its own, so its end is not waited for.
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = await reader.readuntil(b"0\r\n\r\n") if "transfer-encoding" in headers else b""
    return Answer(int(first.split()[1]), headers, body.decode())


async def until(port: int, host: str, status: int, **how: str) -> Answer:
    """Asks until the answer has a status: the configuration has arrived."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await ask(port, host, **how)
            if answer is not None and answer.status == status:
                return answer
            await asyncio.sleep(0.01)
