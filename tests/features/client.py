"""Asks as clients do: HTTP/1.1 in plain and over TLS, calls of gRPC, streams and packets.

What is asked is a mapping, as it stands in a row; what is expected is in it too, see
`expectations.py`.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from grpc import aio

from tests.features import certificates
from tests.testbed.certificates import common_name, show

METHODS = ("get", "head", "post", "put", "delete", "options", "patch", "purge")
_REFUSED = (ConnectionError, TimeoutError, ssl.SSLError, asyncio.IncompleteReadError)


@dataclass(frozen=True)
class Answer:
    """What came back; the status is 0 if nothing did."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0
    shown: str = ""
    """The common name of the server's certificate."""
    protocol: str = ""
    """The version of TLS, then what both agreed to speak."""

    @property
    def saw(self) -> dict[str, Any]:
        """The request, as the backend saw it."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


async def answers(ask: Mapping[str, Any], ports: Mapping[str, int], host: str) -> list[Answer]:
    """One for each time that it is to be asked."""
    times = ask.get("times", 1)
    if ask.get("at_once"):
        return list(await asyncio.gather(*(answer(ask, ports, host) for _ in range(times))))
    return [await answer(ask, ports, host) for _ in range(times)]


async def answer(ask: Mapping[str, Any], ports: Mapping[str, int], host: str) -> Answer:
    """What comes of it."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(5):
            found = await _answer(ask, ports, host)
    except _REFUSED:
        found = Answer()
    return Answer(**(vars(found) | {"seconds": time.monotonic() - started}))


async def _answer(ask: Mapping[str, Any], ports: Mapping[str, int], host: str) -> Answer:
    if "call" in ask:
        return await _called(ask, ports, host)
    if "packet" in ask:
        return await _packet(ask["packet"], _port(ask["over"], ports))
    if "idle" in ask:
        return await _closed(_port(ask["idle"], ports))
    reader, writer = await _connection(ask, ports, host)
    try:
        if "upgrade" in ask:
            return _told(writer, Answer())
        if "hello" in ask:
            return _told(writer, Answer(200, {}, await _stream(reader, writer, ask["hello"])))
        return _told(writer, await _http(reader, writer, ask, host))
    finally:
        writer.close()


def _port(named: str | int, ports: Mapping[str, int]) -> int:
    """By its name, or itself."""
    return named if isinstance(named, int) else ports[named]


async def _closed(port: int) -> Answer:
    """The status is 200 if a connection without requests is closed within a moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.wait_for(reader.read(), 3)
        return Answer(200)
    except TimeoutError:
        return Answer()
    finally:
        writer.close()


async def _connection(
    ask: Mapping[str, Any], ports: Mapping[str, int], host: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    over = ask.get("over", "http")
    port = _port(over, ports)
    if "sni" not in ask and "tls" not in ask and over != "https":
        return await asyncio.open_connection("127.0.0.1", port)
    name = ask.get("sni", ask.get("host", host))
    secured = _secured(**ask.get("tls", {}))
    return await asyncio.open_connection(
        "127.0.0.1", port, ssl=secured, server_hostname=name or None
    )


@cache
def _secured(
    shows: str = "", at_most: str = "", at_least: str = "", ciphers: str = "", curve: str = "",
    alpn: str = "",
) -> ssl.SSLContext:  # fmt: skip
    found = ssl.create_default_context()
    found.check_hostname = False
    found.verify_mode = ssl.CERT_NONE
    if shows:
        show(found, certificates.pair(shows))
    if at_most:
        found.maximum_version = ssl.TLSVersion[f"TLSv{at_most.replace('.', '_')}"]
    if at_least:
        found.minimum_version = ssl.TLSVersion[f"TLSv{at_least.replace('.', '_')}"]
    if ciphers:
        found.set_ciphers(ciphers)
    if curve:
        found.set_ecdh_curve(curve)
    if alpn:
        found.set_alpn_protocols(alpn.split(","))
    return found


def _told(writer: asyncio.StreamWriter, found: Answer) -> Answer:
    secured = writer.get_extra_info("ssl_object")
    if secured is None:
        return found
    shown = common_name(secured.getpeercert(binary_form=True))
    protocol = f"{secured.version()} {secured.selected_alpn_protocol() or ''}".strip()
    return Answer(**(vars(found) | {"shown": shown, "protocol": protocol}))


async def _http(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ask: Mapping[str, Any], host: str
) -> Answer:
    method = next(it for it in METHODS if it in ask)
    body = ask.get("body", "")
    sent = ("x" * body if isinstance(body, int) else body).encode()
    headers = {"host": ask.get("host", host), "connection": "close", **ask.get("headers", {})}
    if sent and "transfer-encoding" not in headers:
        headers["content-length"] = str(len(sent))
    lines = (
        f"{name}: {it}\r\n"
        for name, value in headers.items()
        for it in (value if isinstance(value, list) else [value])
    )
    head = f"{method.upper()} {ask[method]} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()
    writer.write(ask.get("before", "").encode() + head + sent)
    return await _read(reader, method)


async def _read(reader: asyncio.StreamReader, method: str) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.rstrip().split("\r\n")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in lines):
        headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name in headers else value
    status = int(first.split()[1])
    if method == "head" or status in {101, 204, 304}:
        return Answer(status, headers)
    if "content-length" in headers:
        return Answer(status, headers, await reader.readexactly(int(headers["content-length"])))
    if "transfer-encoding" in headers:
        return Answer(status, headers, await _chunks(reader))
    return Answer(status, headers)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found = b""
    while size := int(await reader.readline(), 16):
        found += await reader.readexactly(size)
        await reader.readline()
    return found


async def _stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str) -> bytes:
    """Greets the peer; what it is called comes first, then the greeting."""
    writer.write(f"{text}\n".encode())
    return await reader.readuntil(b"\n")


async def _packet(text: str, port: int) -> Answer:
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[bytes] = loop.create_future()

    class Hearing(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, _: Any) -> None:
            if not heard.done():
                heard.set_result(data)

        def error_received(self, _: Exception) -> None:
            if not heard.done():
                heard.set_exception(ConnectionError())

    transport, _ = await loop.create_datagram_endpoint(Hearing, remote_addr=("127.0.0.1", port))
    try:
        transport.sendto(text.encode())
        return Answer(200, {}, await asyncio.wait_for(heard, 1))
    except TimeoutError:
        return Answer()
    finally:
        transport.close()


async def _called(ask: Mapping[str, Any], ports: Mapping[str, int], host: str) -> Answer:
    """The status of a call that succeeds is 200; else the body is the name of its code."""
    target = f"127.0.0.1:{ports['http']}"
    options = [("grpc.default_authority", ask.get("host", host))]
    async with aio.insecure_channel(target, options=options) as channel:
        call = channel.unary_unary(ask["call"], None, None)
        metadata = tuple(ask.get("headers", {}).items())
        try:
            made = call(b"hello", timeout=5, metadata=metadata)
            body = await made
            told = {str(key): str(value) for key, value in await made.initial_metadata() or ()}
            return Answer(200, told, bytes(body))
        except aio.AioRpcError as error:
            return Answer(0, {}, error.code().name.encode())
