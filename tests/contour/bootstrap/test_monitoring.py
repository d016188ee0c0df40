"""The listener for probes and scrapes, and what it keeps to itself."""

import aiohttp
import pytest
from yarl import URL

from contour import bootstrap
from contour.host import state
from contour.xds.server import Server
from tests.contour.bootstrap.conftest import live, serving, settings
from tests.testbed.ports import free_port

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


@pytest.mark.parametrize("hides_stats", [False, True])
async def test_exactly_two_paths_are_let_through_and_only_to_read(
    directory: state.StateDirectory, hides_stats: bool
) -> None:
    port = free_port()
    address = bootstrap.SocketAddress("127.0.0.1", port)
    text = bootstrap.text(settings(directory, monitoring=address, hides_stats=hides_stats))
    server = Server((f"unix:{directory.socket('xds.sock')}",))
    async with serving(server), live(directory, text), aiohttp.ClientSession() as client:
        found = []
        for method, path, _ in _ANSWERS:
            url = URL(f"http://127.0.0.1:{port}{path}", encoded=True)
            async with client.request(method, url) as answer:
                found.append((method, path, answer.status))
    expected = {(method, path): status for method, path, status in _ANSWERS}
    if hides_stats:
        expected["GET", "/stats/prometheus"] = 404
    assert found == [(*asked, status) for asked, status in expected.items()]
