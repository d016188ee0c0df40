"""The listener for probes and scrapes, and what it keeps to itself."""

from collections.abc import Callable

import aiohttp
import pytest
from yarl import URL

from contour import bootstrap
from contour.host import state
from contour.xds.server import Server
from tests.contour.bootstrap.conftest import live, serving, settings

pytestmark = pytest.mark.envoy

_ANSWERS = [
    ("GET", "/ready", 200),
    ("GET", "/stats/prometheus", 200),
    ("POST", "/ready", 404),
    ("HEAD", "/ready", 404),
    ("GET", "/", 404),
    ("GET", "/stats", 404),
    ("GET", "/config_dump", 404),
    ("POST", "/quitquitquit", 404),
    ("POST", "/ready/../quitquitquit", 404),
    ("GET", "/ready/", 404),
    ("GET", "/stats/prometheus/../../certs", 404),
]


async def test_exactly_two_paths_are_let_through_and_only_to_read(
    directory: state.StateDirectory, unused_tcp_port_factory: Callable[[], int]
) -> None:
    port, other = unused_tcp_port_factory(), unused_tcp_port_factory()
    address = bootstrap.SocketAddress("127.0.0.1", port)
    text = bootstrap.text(settings(directory, monitoring=address))
    server = Server((f"unix:{directory.socket('xds.sock')}",))
    async with serving(server, other), live(directory, text), aiohttp.ClientSession() as client:
        found = []
        for method, path, _ in _ANSWERS:
            url = URL(f"http://127.0.0.1:{port}{path}", encoded=True)
            async with client.request(method, url) as answer:
                found.append((method, path, answer.status))
    assert found == _ANSWERS
