"""Real sockets that move while they serve."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from contour.pages import settings
from contour.pages.listeners import Listeners, Page
from contour.pages.settings import Files, ListenAddress, Purpose, Sites
from tests.testbed import certificates
from tests.testbed.ports import free_port


def page(text: str) -> Page:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(text=text)

    return answer


PAGES: dict[Purpose, dict[str, Page]] = {
    "health": {"/healthz": page("alive")},
    "metrics": {"/metrics": page("numbers")},
}


def at(port: int, *purposes: Purpose, tls: Files | None = None, host: str = "127.0.0.1") -> Sites:
    return Sites({ListenAddress(host, port, tls): frozenset(purposes)})


def both(*sites: Sites) -> Sites:
    return Sites({site: it for found in sites for site, it in found.purposes.items()})


@asynccontextmanager
async def listening() -> AsyncIterator[Listeners]:
    it = Listeners(PAGES)
    try:
        yield it
    finally:
        await it.close()


async def asked(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def sent(port: int, request: bytes) -> bytes:
    """The first line of the answer to what need not be HTTP."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.readline()
    finally:
        writer.close()


async def refuses(port: int) -> bool:
    try:
        await asked(port, "/")
    except aiohttp.ClientConnectorError:
        return True
    return False


async def test_pages_are_where_they_are_wanted_and_nowhere_else() -> None:
    one, two = free_port(), free_port()
    async with listening() as it:
        assert await it.update(both(at(one, "health"), at(two, "metrics"))) == ()
        assert (it.port("health"), it.port("metrics"), it.port("debug")) == (one, two, None)
        assert await asked(one, "/healthz") == (200, "alive")
        assert await asked(two, "/metrics") == (200, "numbers")
        assert (await asked(one, "/metrics"))[0] == 404
        assert (await asked(one, "/healthz", "POST"))[0] == 405
    assert await refuses(one)


async def test_pages_move_while_they_serve() -> None:
    one, two = free_port(), free_port()
    async with listening() as it:
        await it.update(at(one, "health", "metrics"))
        await it.update(both(at(one, "health"), at(two, "metrics")))
        assert (await asked(one, "/metrics"))[0] == 404
        assert await asked(two, "/metrics") == (200, "numbers")
        await it.update(at(two, "health", "metrics"))
        assert await refuses(one)
        assert await asked(two, "/healthz") == (200, "alive")


async def test_a_wider_address_takes_the_place_of_a_narrower_one() -> None:
    port = free_port()
    async with listening() as it:
        await it.update(at(port, "health"))
        assert await it.update(at(port, "health", host="0.0.0.0")) == ()
        assert await asked(port, "/healthz") == (200, "alive")


async def test_what_cannot_be_opened_leaves_the_old_one_until_it_can() -> None:
    one, two = free_port(), free_port()
    async with listening() as it, listening() as squatter:
        await it.update(at(one, "health", "metrics"))
        await squatter.update(at(two, "health"))
        (told,) = await it.update(both(at(one, "health"), at(two, "metrics")))
        assert f"http://127.0.0.1:{two}" in told
        assert await asked(one, "/metrics") == (200, "numbers")
        await squatter.close()
        assert await it.update(both(at(one, "health"), at(two, "metrics"))) == ()
        assert (await asked(one, "/metrics"))[0] == 404
        assert await asked(two, "/metrics") == (200, "numbers")


async def test_an_address_that_is_not_ours_leaves_the_old_one() -> None:
    port = free_port()
    async with listening() as it:
        await it.update(at(port, "health"))
        assert await it.update(at(port, "health", host="192.0.2.1"))
        assert await asked(port, "/healthz") == (200, "alive")


async def test_problems_of_the_configuration_are_handed_on() -> None:
    async with listening() as it:
        assert await it.update(Sites({}, ("spec.metrics: no",))) == ("spec.metrics: no",)


async def test_tls_takes_the_place_of_clear_text_and_its_files_may_change(tmp_path: Path) -> None:
    port, ours = free_port(), certificates.authority()
    paths = certificates.write(certificates.issued(ours, "localhost"), ours, tmp_path)
    async with listening() as it:
        await it.update(at(port, "metrics"))
        assert await it.update(at(port, "metrics", tls=Files(paths[0], paths[1]))) == ()
        assert await secure(port, ours) == "numbers"
        fresh = certificates.authority("fresh")
        certificates.write(certificates.issued(fresh, "localhost"), fresh, tmp_path)
        assert await secure(port, fresh) == "numbers"
        paths[1].write_bytes(b"half of a key")
        assert await secure(port, fresh) == "numbers"


async def test_metrics_may_ask_for_a_certificate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port, ours = free_port(), certificates.authority()
    paths = certificates.write(certificates.issued(ours, "localhost"), ours, tmp_path)
    async with listening() as it:
        await it.update(at(port, "metrics", tls=Files(*paths)))
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await secure(port, ours)
        assert await secure(port, ours, client=(paths[0], paths[1])) == "numbers"
        paths[2].write_bytes(certificates.revocations(ours))
        for _ in range(2):
            assert await secure(port, ours, client=(paths[0], paths[1])) == "numbers"
    assert len([it for it in caplog.messages if "has no certificate" in it]) == 1


async def test_files_that_are_missing_are_told(tmp_path: Path) -> None:
    files = Files(tmp_path / "no.crt", tmp_path / "no.key")
    async with listening() as it:
        (told,) = await it.update(at(free_port(), "metrics", tls=files))
        assert "No such file" in told


async def secure(
    port: int, authority: certificates.Pair, client: tuple[Path, Path] | None = None
) -> str:
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    if client:
        trust.load_cert_chain(*client)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"https://localhost:{port}/metrics", ssl=trust) as answer,
    ):
        return await answer.text()


def test_the_usual_places_are_those_of_contour() -> None:
    assert {purpose: str(it) for purpose, it in settings.USUAL.items()} == {
        "health": "http://0.0.0.0:8000",
        "metrics": "http://0.0.0.0:8000",
        "debug": "http://127.0.0.1:6060",
    }


BAD = [
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
]


@pytest.mark.parametrize("request_", BAD)
async def test_what_is_no_http_is_not_logged(
    request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever reaches the port could fill the log with tracebacks."""
    port = free_port()
    async with listening() as it:
        await it.update(at(port, "health"))
        caplog.clear()
        assert b" 400 " in await sent(port, request_)
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


async def test_a_page_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: web.BaseRequest) -> web.Response:
        raise RuntimeError("oh no")

    port, found = free_port(), Listeners({"health": {"/healthz": fail}})
    try:
        await found.update(at(port, "health"))
        assert (await asked(port, "/healthz"))[0] == 500
    finally:
        await found.close()
    assert "oh no" in caplog.text
