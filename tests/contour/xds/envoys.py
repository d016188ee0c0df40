"""A real Envoy that takes its configuration from a server of ours over a Unix socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from contour.bootstrap import limits
from contour.host import installation
from tests.testbed import webservers
from tests.testbed.patience import PATIENCE

_HTTP2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


@asynccontextmanager
async def envoy(folder: Path, xds: str, api_type: str = "DELTA_GRPC") -> AsyncIterator[Path]:
    """Runs while the block does; gives the path of its admin socket."""
    admin = folder / "admin"
    bootstrap = folder / "bootstrap.json"
    bootstrap.write_text(json.dumps(_bootstrap(xds, api_type, admin)))
    process = await asyncio.create_subprocess_exec(
        *(
            str(installation.binary()),
            "-c",
            str(bootstrap),
            "--concurrency",
            "1",
            "--use-dynamic-base-id",
        ),
        *("-l", "warning", "--log-path", str(folder / "envoy.log")),
    )
    try:
        yield admin
    finally:
        process.kill()
        await process.wait()


async def admin(path: Path, page: str) -> str:
    """A page of Envoy's admin interface."""
    connector = aiohttp.UnixConnector(str(path))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"http://admin/{page}") as answer,
    ):
        return await answer.text()


@asynccontextmanager
async def backend(text: str) -> AsyncIterator[int]:
    """A backend that answers every request with a text; gives its port."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=text)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with webservers.pages(application) as port:
        yield port


class Browser:
    """Requests to one Envoy over connections that are kept."""

    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self._url = f"http://127.0.0.1:{port}/"
        self.failed: list[str] = []

    async def get(self, host: str) -> str:
        """The body of an answer, or its status if that is not 200."""
        async with self._session.get(self._url, headers={"host": host}) as answer:
            return await answer.text() if answer.status == 200 else str(answer.status)

    async def until(self, host: str, text: str, allowed: set[str]) -> int:
        """Asks until the answer is a text; all answers before must be among the allowed ones."""
        asked = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self._answer(host)
                asked += 1
                if answer == text:
                    return asked
                assert answer in allowed, f"{host} answered {answer!r}"

    async def _answer(self, host: str) -> str:
        try:
            return await self.get(host)
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(0)  # nothing listens yet: let the others run
            return "refused"


@asynccontextmanager
async def browser(port: int) -> AsyncIterator[Browser]:
    async with aiohttp.ClientSession() as session:
        yield Browser(session, port)


# As in our own bootstrap: what we write ourselves is longer than Envoy's default allows.
_HARDENING = {
    f"re2.max_program_size.{it}_level": limits.REGEX_PROGRAM_SIZE for it in ("error", "warn")
}


def _bootstrap(xds: str, api_type: str, admin: Path) -> dict[str, Any]:
    by_ads = {"ads": {}, "resource_api_version": "V3"}
    http2 = {"@type": f"type.googleapis.com/{_HTTP2}"}
    http2["explicit_http_config"] = {"http2_protocol_options": {}}  # type: ignore[assignment]
    endpoint = {"endpoint": {"address": {"pipe": {"path": xds}}}}
    return {
        "node": {"id": "one", "cluster": "web"},
        "admin": {"address": {"pipe": {"path": str(admin)}}},
        "layered_runtime": {"layers": [{"name": "hardening", "static_layer": _HARDENING}]},
        "dynamic_resources": {
            "ads_config": {
                "api_type": api_type,
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}],
            },
            "cds_config": by_ads,
            "lds_config": by_ads,
        },
        "static_resources": {
            "clusters": [
                {
                    "name": "xds",
                    "type": "STATIC",
                    "typed_extension_protocol_options": {_HTTP2: http2},
                    "load_assignment": {
                        "cluster_name": "xds",
                        "endpoints": [{"lb_endpoints": [endpoint]}],
                    },
                }
            ]
        },
    }
