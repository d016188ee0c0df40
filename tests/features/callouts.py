"""The services that Envoy asks: authorization by gRPC and HTTP, and limits of requests.

A doorman lets in who says `x-let-me-in: please`, and tells the backend in headers what it was told
itself. Limits are exceeded where an entry is called or has the value `too-often`; beside the value
`by-address` the address decides, with `by-domain` the domain. An entry `slow` takes a second.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Any

import grpc
from aiohttp import web
from envoy.service.auth.v3 import external_auth_pb2, external_auth_pb2_grpc
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from envoy.type.v3 import http_status_pb2
from grpc import aio

Server = tuple[Any, grpc.ServerCredentials | None]


def servers(credentials: grpc.ServerCredentials) -> dict[str, Server]:
    """By name; with the credentials of those that speak TLS."""
    found: dict[str, Server] = {}
    for name, shown in (("doorman", None), ("other-doorman", None), ("doorman-tls", credentials)):
        found[name] = (aio.server(), shown)
        service = _Authorization(name)
        external_auth_pb2_grpc.add_AuthorizationServicer_to_server(service, found[name][0])
    found["limits"] = (aio.server(), None)
    rls_pb2_grpc.add_RateLimitServiceServicer_to_server(_Limits(), found["limits"][0])
    return found


@asynccontextmanager
async def listening(server: Any, credentials: grpc.ServerCredentials | None) -> AsyncIterator[int]:
    """The port; over TLS if there are credentials."""
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


@asynccontextmanager
async def at_a_socket() -> AsyncIterator[str]:
    """The path of a Unix socket at which a doorman is asked by gRPC."""
    with TemporaryDirectory() as folder:
        path, server = f"{folder}/doorman.sock", aio.server()
        external_auth_pb2_grpc.add_AuthorizationServicer_to_server(
            _Authorization("doorman"), server
        )
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        try:
            yield path
        finally:
            await server.stop(0)


class _Authorization(external_auth_pb2_grpc.AuthorizationServicer):
    def __init__(self, name: str) -> None:
        self._name = name

    async def Check(self, request: Any, _: Any) -> Any:  # noqa: N802
        http = request.attributes.request.http
        await asyncio.sleep(float(http.headers.get("x-think", "0")))
        result = external_auth_pb2.CheckResponse()
        if http.headers.get("x-let-me-in") != "please":
            result.status.code = 16
            result.denied_response.status.code = http_status_pb2.Unauthorized
            result.denied_response.body = f"who are you? says {self._name}"
            return result
        told = {
            "x-doorman": self._name,
            "x-context": json.dumps(dict(request.attributes.context_extensions), sort_keys=True),
            "x-body": http.body or http.raw_body.decode(),
            "x-raw": str(len(http.raw_body)),
        }
        for name, value in told.items():
            header = result.ok_response.headers.add().header
            header.key, header.value = name, value or "-"
        return result


class _Limits(rls_pb2_grpc.RateLimitServiceServicer):
    async def ShouldRateLimit(self, request: Any, _: Any) -> Any:  # noqa: N802
        found = [{entry.key: entry.value for entry in it.entries} for it in request.descriptors]
        await asyncio.sleep(1 if any("slow" in it.values() for it in found) else 0)
        response = rls_pb2.RateLimitResponse
        is_over = any(_is_over(request.domain, it) for it in found)
        result = response(overall_code=response.OVER_LIMIT if is_over else response.OK)
        for _ in found:
            status = result.statuses.add(code=result.overall_code, limit_remaining=7)
            status.current_limit.requests_per_unit = 10
            status.current_limit.unit = response.RateLimit.HOUR
        return result


def _is_over(domain: str, entries: dict[str, str]) -> bool:
    values = set(entries.values())
    if "by-address" in values:
        return entries.get("remote_address") == "127.0.0.1"
    if "by-domain" in values:
        return domain == "shop"
    return "too-often" in values or "too-often" in entries


def doorman() -> web.Application:
    """The one that speaks HTTP: it tells the path and the headers that it was shown."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("x-let-me-in") != "please" and not request.path.startswith("/free"):
            return web.Response(status=403, text="who are you?")
        shown = ",".join(sorted(it.lower() for it in request.headers if it.lower()[:2] == "x-"))
        return web.Response(
            headers={"x-path": request.path, "x-shown": shown, "x-private": "never"}
        )

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    return application
