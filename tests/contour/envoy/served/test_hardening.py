"""What hardens the reading of requests, and what happens where it is switched off."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from dag import nodes
from dag.configuration.reading import Settings, Timeouts
from tests.contour.envoy import clients, proxies, world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import ONE, Served
from tests.testbed import ports
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

HOST = "hardened.test"
SLASHES = ("/a%2Fb", "/a%5Cb")
ADDRESSES = {
    "header.test": nodes.ClientAddress(header="x-client"),
    "ranges.test": nodes.ClientAddress(proxies=("127.0.0.0/8",)),
    "edge.test": nodes.ClientAddress(hops=1),
}
"""Hosts, and how the addresses of their clients are found."""


def hosts(served: Served) -> None:
    served.serve(HOST, world.route(world.forward(ONE)))
    for host, address in ADDRESSES.items():
        served.serve(host, world.route(world.forward(ONE)))
        traffic = nodes.ClientTraffic(address=address)
        served.proxy.world.secure(host, world.tls(traffic=traffic))


async def _configured(envoy: Served, **edge: Any) -> None:
    envoy.proxy.world.engine.write(world.EDGES, (), nodes.Edge(**edge))
    await envoy.proxy.publish()
    await peers.eventually(lambda: envoy.proxy.fleet.acceptance.is_settled)


async def _until(asked: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """A listener that Envoy has accepted takes over from the one before a little later."""
    found = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while (found := await asked()) != expected:
                await asyncio.sleep(0.05)
    assert found == expected


@pytest.mark.parametrize("host", ADDRESSES)
async def test_no_client_says_what_envoy_says_of_clients(envoy: Served, host: str) -> None:
    forged = {
        "x-client": "203.0.113.9",
        "x-forwarded-for": "203.0.113.9",
        "x-envoy-external-address": "198.51.100.6",
        "x-envoy-internal": "true",
        "x-envoy-decorator-operation": "forged",
        "x-envoy-downstream-service-cluster": "forged",
        "x-envoy-downstream-service-node": "forged",
        "x-envoy-max-retries": "9",
    }
    answer = await proxies.ask(envoy.secure, host, sni=host, **forged)
    assert answer is not None
    seen = json.loads(answer.body)["headers"]
    assert seen["x-envoy-external-address"] == "203.0.113.9"
    assert [it for it in seen if it in forged and it.startswith("x-envoy-")] == [
        "x-envoy-external-address"
    ]


async def _seen(envoy: Served, path: str) -> list[str | int]:
    """The path that the backend saw on plain HTTP and behind TLS, or the status if it did not."""
    answers = await envoy.ask_both(HOST, path)
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
    for number, path in enumerate(SLASHES):
        await _until(partial(_seen, envoy, path), [expected[number]] * 2)


@pytest.mark.parametrize(
    ("how", "status", "seen"),
    [("Reject", 400, None), ("Drop", 200, None), ("Allow", 200, "root")],
)
async def test_headers_with_underscores(
    envoy: Served, how: str, status: int, seen: str | None
) -> None:
    await _configured(envoy, underscores=how)

    async def told() -> list[tuple[int, str | None]]:
        answers = await envoy.ask_both(HOST, "/", my_header="root")
        bodies = [json.loads(it.body) if it.status == 200 else {} for it in answers]
        heard = [it.get("headers", {}).get("my_header") for it in bodies]
        return [(it.status, header) for it, header in zip(answers, heard, strict=True)]

    await _until(told, [(status, seen)] * 2)


@pytest.mark.parametrize(("on", "path"), [(True, "/y"), (False, "/x/../y")])
async def test_dots_in_paths(envoy: Served, on: bool, path: str) -> None:
    await _configured(envoy, normalize_path=on)
    await _until(lambda: _seen(envoy, "/x/../y"), [path, path])


@pytest.mark.parametrize(
    ("which", "answer"),
    [("header of a request", b"HTTP/1.1 408"), ("handshake of TLS", b"\x16\x03"), ("bytes", b"")],
)
async def test_a_client_that_rests_is_not_waited_for(
    envoy: Served, which: str, answer: bytes
) -> None:
    made, tcp = envoy.proxy.world, ports.free_port()
    stream = nodes.Stream((nodes.WeightedCluster(ONE),))
    made.listeners(
        world.plain_listener(envoy.plain),
        world.secure_listener(envoy.secure),
        nodes.Listener("tcp-9", "TCP", 9, "127.0.0.1", tcp, stream=stream),
    )
    short = Timeouts(request_headers=0.5, tls_handshake=0.5, tcp_idle=0.5)
    made.engine.write(world.SETTINGS, (), Settings(timeouts=short))
    await envoy.proxy.publish()
    await peers.eventually(lambda: envoy.proxy.fleet.acceptance.is_settled)
    port, said = {
        "header of a request": (envoy.plain, b"GET / HTTP/1.1\r\nhost: "),
        "handshake of TLS": (envoy.secure, _client_hello()),
        "bytes": (tcp, b""),
    }[which]
    for _ in range(8):  # the first connections may still be those of the listener that was changed
        heard = await _heard(port, said)
        if heard is not None and heard.startswith(answer):
            break
    assert heard is not None
    assert heard.startswith(answer)


async def _heard(port: int, said: bytes) -> bytes | None:
    """What comes back until the connection is closed; None if it is not, within a few seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    try:
        async with asyncio.timeout(5):
            return await reader.read()
    except TimeoutError:
        return None
    finally:
        writer.close()


def _client_hello() -> bytes:
    """The first message of a handshake."""
    sent = ssl.MemoryBIO()
    client = clients.unverified().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=HOST)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()
