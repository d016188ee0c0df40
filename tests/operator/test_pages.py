"""The operator's pages, on a real socket."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest

from contour_operator import pages
from observability.connections import Limits
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("GET", "/readyz", 503),
        ("GET", "/", 404),
        ("POST", "/healthz", 405),
    ],
)
async def test_each_page_is_where_it_should_be(method: str, path: str, status: int) -> None:
    site = pages.Site("127.0.0.1", free_port())
    async with (
        pages.served(site, lambda: False, {}),
        aiohttp.ClientSession(f"http://127.0.0.1:{site.port}") as client,
        client.request(method, path) as answer,
    ):
        assert answer.status == status


async def test_clients_that_ask_for_nothing_make_room() -> None:
    site = pages.Site("127.0.0.1", free_port())
    async with pages.served(site, lambda: True, {}):
        found = [
            await asyncio.open_connection("127.0.0.1", site.port)
            for _ in range(Limits().connections + 1)
        ]
        oldest, _ = found[0]
        try:
            async with asyncio.timeout(PATIENCE):
                with suppress(ConnectionError):
                    assert not await oldest.read()
        finally:
            for _, writer in found:
                writer.close()
