"""The servers that guards ask, as real ones: authorization, rate limits, traces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from aiohttp import web
from envoy.config.core.v3 import base_pb2
from envoy.service.auth.v3 import external_auth_pb2, external_auth_pb2_grpc
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from envoy.type.v3 import http_status_pb2
from grpc import aio

from tests.testbed import webservers
from tests.testbed.patience import PATIENCE


@dataclass
class Peers:
    """What was asked so far, and the ports to ask at."""

    grpc: int = 0
    http: int = 0
    authorized: list[Any] = field(default_factory=list)
    """Requests of the gRPC authorization server."""
    answer: external_auth_pb2.CheckResponse | None = None
    """What that server answers in place of what it thinks."""
    visits: list[web.Request] = field(default_factory=list)
    """Requests of the HTTP server."""
    tokens: dict[str, Any] = field(default_factory=dict)
    """What the HTTP server answers as the token endpoint of an OpenID provider."""
    limited: list[Any] = field(default_factory=list)
    """Requests of the rate limit service."""
    traced: list[bytes] = field(default_factory=list)
    """Encoded exports to the collector of traces."""
    trace_headers: list[tuple[str, str]] = field(default_factory=list)
    """Of these exports."""


@asynccontextmanager
async def serving() -> AsyncIterator[Peers]:
    """All of them, on two ports."""
    peers = Peers()
    server = aio.server()
    external_auth_pb2_grpc.add_AuthorizationServicer_to_server(_Authorization(peers), server)
    rls_pb2_grpc.add_RateLimitServiceServicer_to_server(_RateLimits(peers), server)
    server.add_generic_rpc_handlers((_collector(peers),))
    peers.grpc = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with webservers.pages(_pages(peers)) as peers.http:
            yield peers
    finally:
        await server.stop(0)


class _Authorization(external_auth_pb2_grpc.AuthorizationServicer):
    """Lets in who says so in `x-let-me-in`."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def Check(self, request: Any, _: Any) -> Any:  # noqa: N802
        self._peers.authorized.append(request)
        if self._peers.answer is not None:
            return self._peers.answer
        headers = request.attributes.request.http.headers
        result = external_auth_pb2.CheckResponse()
        if headers.get("x-let-me-in") == "please":
            result.ok_response.headers.add().header.key = "x-user"
            result.ok_response.headers[0].header.value = "somebody"
            for name in ("content-length", "x-answer") if "x-frame" in headers else ():
                added = result.ok_response.response_headers_to_add.add()
                added.header.key, added.header.value = name, "3"
                added.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
        else:
            result.status.code = 16
            result.denied_response.status.code = http_status_pb2.Unauthorized
            result.denied_response.body = "who are you?"
            if "x-frame" in headers:
                cut = result.denied_response.headers.add()
                cut.header.key, cut.header.value = "content-length", "3"
                cut.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
        return result


class _RateLimits(rls_pb2_grpc.RateLimitServiceServicer):
    """Refuses descriptors with the value `too-often`."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def ShouldRateLimit(self, request: Any, _: Any) -> Any:  # noqa: N802
        self._peers.limited.append(request)
        values = {entry.value for it in request.descriptors for entry in it.entries}
        codes = rls_pb2.RateLimitResponse
        code = codes.OVER_LIMIT if "too-often" in values else codes.OK
        return codes(overall_code=code)


def _collector(peers: Peers) -> Any:
    async def export(request: bytes, context: Any) -> bytes:
        peers.traced.append(request)
        peers.trace_headers.extend((it.key, it.value) for it in context.invocation_metadata())
        return b""

    handler = grpc.unary_unary_rpc_method_handler(export)
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    return grpc.method_handlers_generic_handler(service, {"Export": handler})


def _pages(peers: Peers) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        await request.read()
        peers.visits.append(request)
        if request.headers.get("x-let-me-in") == "please":
            framed = "x-frame" in request.headers
            forged = {"x-forwarded-for": "9.9.9.9"} if framed else {}
            return web.Response(headers={"x-user": "somebody", "x-secret": "never", **forged})
        if "x-location" in request.headers:
            return web.Response(status=302, headers={"location": request.headers["x-location"]})
        if request.path == "/token":
            return web.json_response(peers.tokens)
        if request.path == "/healthy":
            return web.Response()
        result = web.Response(status=_status(request), text="who are you?")
        if "x-cookie" in request.headers:
            result.headers.add("set-cookie", request.headers["x-cookie"])
            result.headers.add("set-cookie", "other=1; Path=/")
        return result

    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", answer)
    return application


def _status(request: web.Request) -> int:
    return 500 if request.path == "/sick" else int(request.headers.get("x-status", "418"))


async def eventually(condition: Any) -> None:
    """Returns when the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)
