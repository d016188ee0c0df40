"""What clients of HTTP/2 are offered, and how many header fields requests may have."""

import pytest

from tests.contour.envoy import clients, world
from tests.contour.envoy.served.conftest import ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

HOST = "versions.test"
TEXT = bytes.fromhex("818500000000") + b"hello"  # a frame of text with the mask 0 (RFC 6455)


def hosts(served: Served) -> None:
    served.serve(HOST, world.route(world.forward(ONE, websockets=True)))


@pytest.mark.parametrize("sni", [None, HOST])
async def test_websockets_over_http2_are_not_offered(envoy: Served, sni: str | None) -> None:
    """Browsers then open a connection of HTTP/1.1 for them (RFC 8441, section 3)."""
    port = envoy.plain if sni is None else envoy.secure
    async with clients.tcp(port, "h2", sni) as connection:
        assert isinstance(connection, clients.Http2)
        connect = ((":method", "CONNECT"), (":authority", HOST))
        assert await connection.opened(connect, ends=False) == 404
        assert connection.state.remote_settings.enable_connect_protocol == 0
        socket = ((":scheme", "https"), (":path", "/"), (":protocol", "websocket"))
        assert await connection.opened((*connect, *socket), ends=False) == 0


@pytest.mark.parametrize(
    ("version", "cookies"), [("h2", 0), ("h2", 180), ("h2", 300), ("http/1.1", 300)]
)
async def test_as_many_cookies_are_taken_as_browsers_send(
    envoy: Served, version: str, cookies: int
) -> None:
    async with clients.tcp(envoy.plain, version, None) as connection:
        crumbs = [("cookie", f"name-{number}=value") for number in range(cookies)]
        expected = 200 if cookies < 256 else 0 if version == "h2" else 431
        assert await connection.ask(HOST, "/", *crumbs) == expected
        if version == "h2":
            assert await connection.ask(HOST) == 200, "the connection goes on"
