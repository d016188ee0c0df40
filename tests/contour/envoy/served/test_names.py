"""Which host a TLS connection reaches: by the name it asked for, and by the host of the request."""

import asyncio
from dataclasses import replace

import pytest

from dag import nodes
from tests.contour.envoy import clients, proxies, world
from tests.contour.envoy.served.conftest import ONE, Served
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

FORWARD = world.route(world.forward(ONE))
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
    served.serve(
        "traced.test",
        replace(FORWARD, match=nodes.Match(nodes.Exact("/trace"), method="TRACE")),
        FORWARD,
    )
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
        ("unknown.test", "own.test", "421"),
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
        async with asyncio.timeout(PATIENCE):
            line = await reader.readline()
        writer.close()
        assert int(line.split()[1]) == status


@pytest.mark.parametrize(
    ("host", "more", "status"),
    [
        ("traced.test", (), 200),
        ("TRACED.test:8080", (), 200),
        ("traced.test.", (), 200),
        # RFC 9112, section 3.2: exactly one. RFC 9110, section 4.2.4: nothing before an `@`.
        ("traced.test", (("host", "other.test"),), 400),
        ("traced.test,other.test", (), 400),
        ("user:password@traced.test", (), 400),
        ("traced.test@", (), 400),
        ("traced.test:", (), 400),
        ("x.wild.test:", (), 400),
        (":", (), 400),
    ],
)
async def test_what_names_no_host_or_several_reaches_none(
    envoy: Served, host: str, more: tuple[tuple[str, str], ...], status: int
) -> None:
    async with clients.tcp(envoy.plain, "http/1.1", None) as connection:
        assert await connection.ask(host, "/", *more) == status
    if not more:
        async with clients.tcp(envoy.plain, "h2", None) as connection:
            is_reset = "@" in host  # by Envoy itself, before any filter
            assert await connection.ask(host) == (0 if is_reset else status)


@pytest.mark.parametrize(("path", "status"), [("/trace", 200), ("/", 405)])
async def test_trace_is_refused_unless_a_route_asks_for_it(
    envoy: Served, path: str, status: int
) -> None:
    for answer in await envoy.ask_both("traced.test", path, method="TRACE"):
        assert answer.status == status
