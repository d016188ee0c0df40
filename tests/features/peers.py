"""Who stands behind Envoy and beside it, each a real server: backends, guards, givers of keys.

Backends say what they saw, and answer as the query tells: `wait` seconds first, `status`, `fails`
(so many times before it goes well), `down` (names of backends that answer 503), `header` and
`cookie` in the answer, `size` of it, `only` (the one host that it answers).
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from typing import Any

import grpc
from aiohttp import web
from grpc import aio

from tests.features import callouts, certificates, keys
from tests.testbed import webservers
from tests.testbed.certificates import common_name, show

PLAIN = ("one", "two", "three", "open")
SECURE = "backend.example.com"


@dataclass
class Peers:
    """Ports and sockets by name, and how often which backend was asked for what."""

    ports: dict[str, int] = field(default_factory=dict)
    sockets: dict[str, str] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By backend and path."""


@asynccontextmanager
async def serving() -> AsyncIterator[Peers]:
    """All of them, each on a port of its own."""
    peers = Peers()
    async with AsyncExitStack() as stack:
        for name in PLAIN:
            peers.ports[name] = await stack.enter_async_context(_pages(_backend(peers, name)))
        for name, secured in _secured().items():
            peers.ports[name] = await stack.enter_async_context(
                _pages(_backend(peers, name), secured)
            )
        for name, credentials in (("calls", None), ("secret-calls", _credentials())):
            peers.ports[name] = await stack.enter_async_context(_calls(name, credentials))
        for name in ("stream", "other-stream"):
            peers.ports[name] = await stack.enter_async_context(_streams(name))
        peers.ports["full"] = stack.enter_context(_full())
        for name in ("packets", "other-packets"):
            peers.ports[name] = await stack.enter_async_context(_packets(name))
        for name, server in callouts.servers(_credentials()).items():
            peers.ports[name] = await stack.enter_async_context(callouts.listening(*server))
        peers.sockets["doorman_socket"] = await stack.enter_async_context(callouts.at_a_socket())
        peers.ports["doorman-http"] = await stack.enter_async_context(_pages(callouts.doorman()))
        peers.ports["keys"] = await stack.enter_async_context(_pages(keys.pages()))
        secured = _context(certificates.pair("keys.example.com"))
        peers.ports["keys_tls"] = await stack.enter_async_context(_pages(keys.pages(), secured))
        yield peers


def _secured() -> dict[str, ssl.SSLContext]:
    """Backends that speak TLS: any version, 1.2 at most, and one that wants a certificate."""
    pair = certificates.pair(SECURE)
    old, strict = _context(pair), _context(pair)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    strict.verify_mode = ssl.CERT_REQUIRED
    return {"secret": _context(pair), "secret-old": old, "secret-strict": strict}


def _context(pair: Any) -> ssl.SSLContext:
    found = show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
    found.load_verify_locations(cadata=certificates.authority("clients").decode())
    found.verify_mode = ssl.CERT_OPTIONAL
    found.set_ecdh_curve("prime256v1")
    found.sni_callback = _remember
    return found


_names: dict[ssl.SSLObject, str] = {}
_requests: Counter[asyncio.BaseTransport] = Counter()


def _remember(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
    _names[connection] = name or ""


def _credentials() -> grpc.ServerCredentials:
    pair = certificates.pair(SECURE)
    return grpc.ssl_server_credentials([(pair.key_pem, pair.pem)])


def _pages(
    application: web.Application, secured: ssl.SSLContext | None = None
) -> AbstractAsyncContextManager[int]:
    return webservers.pages(application, "0.0.0.0", secured=secured)


def _backend(peers: Peers, name: str) -> web.Application:
    attempts: Counter[tuple[str, str]] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse:
        peers.counts[name, request.path] += 1
        if request.headers.get("upgrade", "").lower() == "websocket":
            return await _echoing(request)
        query = request.query
        await asyncio.sleep(float(query.get("wait", "0")))
        attempt = (request.host, request.path_qs)
        attempts[attempt] += 1
        status = int(query.get("status", "200"))
        fails = int(query.get("fails", "0" if status == 200 else "1000000"))
        if attempts[attempt] > fails:
            status = 200
        elif status == 200:
            status = 503
        if name in query.getall("down", []) or query.get("only", request.host) != request.host:
            status = 503
        if request.transport is None:
            return web.Response(status=503)  # who asked is gone, and hears nothing of it
        response = web.json_response(await _seen(request, request.transport, name), status=status)
        for told in query.getall("header", []):
            response.headers.add(*told.split(":", 1))
        for told in query.getall("cookie", []):
            response.headers.add("set-cookie", told)
        if "size" in query:
            response.text = "x" * int(query["size"])
        return response

    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", answer)
    return application


async def _seen(
    request: web.Request, connection: asyncio.BaseTransport, name: str
) -> dict[str, Any]:
    _requests[connection] += 1
    found = {
        "backend": name,
        "method": request.method,
        "host": request.host,
        "path": request.raw_path,
        "headers": {it.lower(): ", ".join(request.headers.getall(it)) for it in request.headers},
        "size": len(await request.read()),
        "connection": connection.get_extra_info("peername")[1],
        "nth": _requests[connection],
    }
    secured = connection.get_extra_info("ssl_object")
    if secured is not None:
        shown = secured.getpeercert(binary_form=True)
        found["sni"] = _names.get(secured, "")
        found["client"] = common_name(shown) if shown else ""
        found["tls"], found["cipher"] = secured.version(), secured.cipher()[0]
    return found


async def _echoing(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


@asynccontextmanager
async def _calls(name: str, credentials: grpc.ServerCredentials | None) -> AsyncIterator[int]:
    """Answers a call with its name, the method, and the metadata that starts with `x-`; after the
    seconds that the metadata `wait` says."""

    class Every(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> Any:
            told = sorted(f"{it[0]}={it[1]!s}" for it in details.invocation_metadata)
            wait = float(dict(details.invocation_metadata).get("wait", "0"))
            told = [it for it in told if it.startswith("x-")]
            answer = " ".join([name, str(details.method), *told]).encode()

            async def respond(_: bytes, context: Any) -> bytes:
                await asyncio.sleep(wait)
                await context.send_initial_metadata((("x-internal", "yes"),))
                return answer

            return grpc.unary_unary_rpc_method_handler(respond)

    async with callouts.listening(aio.server(handlers=[Every()]), credentials) as port:
        yield port


def _streams(name: str) -> AbstractAsyncContextManager[int]:
    """Answers a line with its name and the line."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name.encode() + b" " + await reader.readline())

    return webservers.streams(answer)


@contextmanager
def _full() -> Iterator[int]:
    """Nobody takes a connection any more: two wait already."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        for _ in range(2):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@asynccontextmanager
async def _packets(name: str) -> AsyncIterator[int]:
    """Answers a packet with its name and the packet."""

    class Answering(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, packet: bytes, address: Any) -> None:
            self.transport.sendto(name.encode() + b" " + packet, address)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Answering, ("127.0.0.1", 0))
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
