"""Which filters requests pass: no guard is missing on any way to a host, and none is there in vain.

An exact host is found by Envoy itself, in lower case and with the usual port; all other spellings
and wildcards are found by a script, when the filters of the request are made already. Guards have
to hold on all of these ways, with both ways of cutting hosts into RouteConfigurations.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from envoy.config.route.v3 import route_pb2

from contour.demo import backends
from contour.envoy import compression, shards, slots, virtual_hosts
from contour.envoy.guards import (
    addresses,
    authentication,
    bodies,
    cookies,
    errorpages,
    ratelimits,
    sessions,
    tokens,
)
from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.configuration.reading import Settings
from dag.gateway.envoypolicies import securitycredentials
from tests.contour.envoy import proxies, world
from tests.contour.envoy.proxies import Proxy, until
from tests.testbed import pairs
from tests.testbed.patience import PATIENCE

ONE = world.cluster("one")
TWO = world.cluster("two", protocol="h2c")
NOBODY = nodes.ExtensionCluster(NamespacedName("shop", "nobody"), ())

DENY = nodes.IpFilter("DENY", (nodes.IpRange("127.0.0.0/8"),))
LIMIT = nodes.LocalRateLimit(1, "hour")
SESSION = nodes.SessionPersistence("s")
DECIDED = nodes.Authorization(NOBODY)


KEYS = nodes.Authentication(ObjectRef("SecurityPolicy", "shop", "keys"))
STRANGE = nodes.Authentication(ObjectRef("SecurityPolicy", "shop", "strange"))
KNOWN = nodes.Known(
    nodes.ApiKeys((nodes.KeySource("header", "x-key"),), (("me", "mine"),)),
    nodes.Passwords((("me", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),)),
)


class Guard(NamedTuple):
    policies: nodes.Policies
    status: int
    """What it answers to a request without anything."""


GUARDS = {
    "addresses": Guard(nodes.Policies(ip_filter=DENY), 403),
    "pages": Guard(nodes.Policies(csrf=nodes.Csrf()), 403),
    "keys": Guard(nodes.Policies(authentication=KEYS), 401),
    "keys that are not there": Guard(nodes.Policies(authentication=STRANGE), 403),
    "tokens": Guard(nodes.Policies(jwt=nodes.Jwt("shop/front/one")), 403),
    "authorization": Guard(nodes.Policies(authorization=DECIDED), 403),
    "authorization of bytes": Guard(
        nodes.Policies(
            authorization=nodes.Authorization(NOBODY, body=nodes.AuthorizationBody(as_bytes=True))
        ),
        403,
    ),
    "authorization by HTTP": Guard(
        nodes.Policies(authorization=nodes.Authorization(NOBODY, protocol="http")), 403
    ),
    "body limit": Guard(nodes.Policies(body_limit=1), 413),
    "error pages": Guard(
        nodes.Policies(error_pages=(nodes.ErrorPage(((200, 201),), "no", status=418),)), 418
    ),
}
"""Each refuses a request with a body of some bytes."""


@pytest.mark.parametrize(
    ("host", "route", "expected"),
    [
        (None, world.route(nodes.Respond(200, "ok")), set()),
        (None, world.route(nodes.Redirect(301)), set()),
        (None, world.route(nodes.Respond(200, "o" * 30)), {compression.NAME}),
        (None, world.route(nodes.Respond(200, "ö" * 15)), {compression.NAME}),
        (None, world.route(world.forward(ONE)), {compression.NAME}),
        (None, world.route(world.forward(TWO)), {compression.NAME, slots.GRPC_WEB}),
        (
            None,
            world.route(nodes.Respond(200), policies=nodes.Policies(jwt=nodes.Jwt("some"))),
            {compression.NAME, tokens.NAME},
        ),
        (
            None,
            world.route(nodes.Respond(200), policies=nodes.Policies(authentication=KEYS)),
            {compression.NAME, authentication.NAMED, authentication.NAME},
        ),
        (
            nodes.Policies(ip_filter=DENY, session=SESSION),
            world.route(nodes.Respond(200), policies=nodes.Policies(ip_filter=nodes.OFF)),
            {compression.NAME, addresses.NAME, sessions.NAME},
        ),
        (
            nodes.Policies(rate_limits=nodes.RateLimits(((nodes.GenericKey("a"),),))),
            world.route(world.forward(ONE)),
            {compression.NAME, ratelimits.GLOBAL},
        ),
        (
            None,
            world.route(
                nodes.Forward((nodes.Backend(ONE, cookies=(nodes.CookieRewrite("a", path="/"),)),))
            ),
            {compression.NAME, cookies.NAME},
        ),
        (
            nodes.Policies(error_pages=(), body_limit=1, local_rate_limit=LIMIT),
            world.route(nodes.Redirect(301)),
            {compression.NAME, errorpages.NAME, bodies.NAME, ratelimits.LOCAL},
        ),
    ],
)
def test_a_host_enables_what_it_uses(
    host: nodes.Policies | None, route: nodes.Route, expected: set[str]
) -> None:
    node = nodes.VirtualHost("a.test", (route, world.route(nodes.Redirect(301))), policies=host)
    body = virtual_hosts.encoded(node, {ONE: "one", TWO: "two"})
    (found,) = route_pb2.RouteConfiguration.FromString(body).virtual_hosts
    assert set(found.typed_per_filter_config) == expected


@asynccontextmanager
async def _world(
    folder: Path, port: int, secure: int, routing: Literal["Shards", "Single"]
) -> AsyncIterator[Proxy]:
    async with backends.serving({"one": 0}) as found, proxies.proxy(folder) as proxy:
        proxy.world.engine.write(world.SETTINGS, (), Settings(routing=routing))
        known = securitycredentials.Reading(KNOWN)
        proxy.world.engine.write(world.KNOWN, NamespacedName("shop", "keys"), known)
        proxy.world.listeners(world.plain_listener(port), world.secure_listener(secure))
        proxy.world.endpoints(ONE, found["one"])
        for number, name in enumerate(("cert", "wild")):
            pair = nodes.Secret(*pairs.pair(number))
            proxy.world.engine.write(world.SECRETS, NamespacedName("shop", name), pair)
        yield proxy


def _put(proxy: Proxy, host: str, *routes: nodes.Route) -> None:
    for listener in (world.PLAIN, world.SECURE):
        proxy.world.host(listener, host, *routes)
    proxy.world.secure(host, world.tls("wild" if host.startswith("*") else "cert"))


@pytest.mark.envoy
@pytest.mark.parametrize("routing", ["Shards", "Single"])
async def test_a_guard_is_missing_on_no_way_to_its_host(
    routing: Literal["Shards", "Single"], tmp_path: Path, unused_tcp_port_factory: object
) -> None:
    port, secure = unused_tcp_port_factory(), unused_tcp_port_factory()  # type: ignore[operator]
    async with _world(tmp_path, port, secure, routing) as proxy:
        open_ = world.route(world.forward(ONE))
        for number, guard in enumerate(GUARDS.values()):
            guarded = world.route(
                world.forward(ONE), nodes.Prefix("/guarded"), policies=guard.policies
            )
            _put(proxy, f"g{number}.test", guarded, open_)
            _put(proxy, f"*.g{number}.wild.test", guarded, open_)
        sockets = world.route(world.forward(ONE, websockets=True), nodes.Prefix("/sockets"))
        _put(proxy, "free.test", sockets, open_)
        _put(proxy, "*.free.test", sockets, open_)
        await proxy.publish()
        await proxy.start()
        await until(port, "free.test", 200)
        await until(secure, "free.test", 200, sni="free.test")
        for number, (name, guard) in enumerate(GUARDS.items()):
            exact, wild = f"g{number}.test", f"x.g{number}.wild.test"
            for host in (exact, exact.upper(), f"{exact}:{port}", f"{exact}:99", wild):
                for to, sni in ((port, None), (secure, host.partition(":")[0].lower())):
                    where = (name, host, sni)
                    refused = await _asked(to, host, "/guarded", sni)
                    assert refused == guard.status, where
                    assert await _asked(to, host, "/", sni) == 200, where
        for host in ("free.test", "FREE.test", "free.test:99", "x.free.test"):
            assert await _asked(port, host, "/guarded", None) == 200, host
            assert await _asked(port, host, "/", None, _UPGRADE) == 403, host
            assert await _asked(port, host, "/sockets", None, _UPGRADE) == 101, host


_POST = ("POST", "connection: close\r\ncontent-length: 9\r\n\r\nxxxxxxxxx")
_SOCKET = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
_UPGRADE = ("GET", f"connection: upgrade\r\nupgrade: websocket\r\n{_SOCKET}\r\n")
"""A method, and all of a request behind its host."""


async def _asked(
    port: int, host: str, path: str, sni: str | None, how: tuple[str, str] = _POST
) -> int:
    """What a request is answered."""
    reader, writer = await proxies.connection(port, sni)
    method, rest = how
    writer.write(f"{method} {path} HTTP/1.1\r\nhost: {host}\r\n{rest}".encode())
    try:
        async with asyncio.timeout(PATIENCE):
            return (await proxies.answer(reader)).status
    finally:
        writer.close()


@pytest.mark.envoy
async def test_a_scope_without_its_host_leads_past_no_guard_of_a_wildcard(
    tmp_path: Path, unused_tcp_port_factory: object
) -> None:
    """As when a host comes or goes: its scope and its table are two resources."""
    port, secure = unused_tcp_port_factory(), unused_tcp_port_factory()  # type: ignore[operator]
    async with _world(tmp_path, port, secure, "Shards") as proxy:
        open_ = world.route(world.forward(ONE))
        for number, guard in enumerate(GUARDS.values()):
            guarded = world.route(
                world.forward(ONE), nodes.Prefix("/guarded"), policies=guard.policies
            )
            _put(proxy, f"*.g{number}.test", guarded, open_)
            host = f"x.g{number}.test"
            (table,) = shards.tables_of(world.PLAIN, host, sharded=True)
            for way in shards.ways(world.plain_listener(), host):
                proxy.fleet.publish([shards.scope(way, table)])
        _put(proxy, "free.test", open_)
        await proxy.publish()
        await proxy.start()
        await until(port, "free.test", 200)
        for number, (name, guard) in enumerate(GUARDS.items()):
            assert await _asked(port, f"x.g{number}.test", "/guarded", None) == guard.status, name
            assert await _asked(port, f"x.g{number}.test", "/", None) == 200, name


@pytest.mark.envoy
@pytest.mark.parametrize("routing", ["Shards", "Single"])
async def test_guards_come_and_go_under_load_and_no_request_is_lost_or_let_through(
    routing: Literal["Shards", "Single"], tmp_path: Path, unused_tcp_port_factory: object
) -> None:
    """Draining lasts one second here, so a drained connection would not live through this."""
    port, secure = unused_tcp_port_factory(), unused_tcp_port_factory()  # type: ignore[operator]
    async with _world(tmp_path, port, secure, routing) as proxy:
        _put(proxy, "other.test", world.route(world.forward(ONE)))
        _put(proxy, "a.test", world.route(world.forward(ONE)))
        await proxy.publish()
        await proxy.start()
        await until(port, "a.test", 200)
        await until(secure, "a.test", 200, sni="a.test")
        listeners = await proxy.counter("listener_manager.listener_create_success")
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(_load(stop, to, "other.test", sni))
                for to, sni in ((port, None), (secure, "other.test")) * 2
            ]
            kept = [_Kept(port, None), _Kept(secure, "a.test")]
            for guard in GUARDS.values():
                proxy.world.host(
                    world.PLAIN, "a.test", world.route(world.forward(ONE), policies=guard.policies)
                )
                proxy.world.host(
                    world.SECURE, "a.test", world.route(world.forward(ONE), policies=guard.policies)
                )
                await proxy.publish()
                for it in kept:
                    await it.turned(200, guard.status)
                _put(proxy, "a.test", world.route(world.forward(ONE)))
                await proxy.publish()
                for it in kept:
                    await it.turned(guard.status, 200)
            stop.set()
            for it in kept:
                it.close()
        assert all(it.result() > 0 for it in others)
        assert await proxy.counter("listener_manager.listener_create_success") == listeners
        assert await proxy.counter("listener_manager.total_filter_chains_draining") == 0


class _Kept:
    """A connection to `a.test` that is used again and again, whatever is switched."""

    def __init__(self, port: int, sni: str | None) -> None:
        self._port, self._sni = port, sni
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def turned(self, before: int, after: int) -> None:
        """Asks until the answer has changed; from then on it has to stay."""
        async with asyncio.timeout(PATIENCE):
            while (found := await self._ask()) != after:
                assert found == before
            for _ in range(20):
                assert await self._ask() == after

    async def _ask(self) -> int:
        if self._pipe is None:
            self._pipe = await proxies.connection(self._port, self._sni)
        reader, writer = self._pipe
        writer.write(b"POST / HTTP/1.1\r\nhost: a.test\r\ncontent-length: 9\r\n\r\nxxxxxxxxx")
        answer = await proxies.answer(reader)
        if answer.headers.get("connection") == "close":
            # Whoever is refused before the body was read is hung up on; nobody else is.
            assert answer.status != 200
            self.close()
        return answer.status

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe[1].close()
            self._pipe = None


async def _load(stop: asyncio.Event, port: int, host: str, sni: str | None) -> int:
    """Asks on one connection; every answer is 200, and the connection stays open."""
    reader, writer = await proxies.connection(port, sni)
    number = 0
    while not stop.is_set():
        writer.write(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            answer = await proxies.answer(reader)
        assert (answer.status, answer.headers.get("connection")) == (200, None)
        number += 1
        await asyncio.sleep(0.002)
    writer.close()
    return number
