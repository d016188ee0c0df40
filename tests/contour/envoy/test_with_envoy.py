"""What a real Envoy makes of it: which host answers, over which chain, with which path."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contour.demo import backends
from contour.envoy import shards
from crds.meta import NamespacedName
from dag import nodes
from dag.configuration.reading import Settings
from tests.contour.envoy import proxies, world
from tests.contour.envoy.proxies import Answer, Proxy, ask, until
from tests.testbed import pairs
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
]

ONE, TWO = world.cluster("one"), world.cluster("two")


@asynccontextmanager
async def _world(folder: Path, ports: tuple[int, int]) -> AsyncIterator[Proxy]:
    async with backends.serving({"one": 0, "two": 0}) as found, proxies.proxy(folder) as proxy:
        plain, secure = ports
        proxy.world.listeners(world.plain_listener(plain), world.secure_listener(secure))
        proxy.world.endpoints(ONE, found["one"])
        proxy.world.endpoints(TWO, found["two"])
        for number, name in enumerate(("cert", "wild", "any")):
            pair = nodes.Secret(*pairs.pair(number))
            proxy.world.engine.write(world.SECRETS, NamespacedName("shop", name), pair)
        yield proxy


@pytest.fixture
def ports(unused_tcp_port_factory: object) -> tuple[int, int]:
    factory = unused_tcp_port_factory
    return factory(), factory()  # type: ignore[operator]


async def _serve(proxy: Proxy, port: int, host: str, **how: str) -> None:
    """Serves what the world says; returns when the host answers 200 there."""
    await proxy.publish()
    await proxy.start()
    await until(port, host, 200, **how)


def _told(answer: Answer | None) -> Mapping[str, str]:
    """What the backend says it was asked."""
    assert answer is not None
    assert answer.status == 200, answer
    found: Mapping[str, str] = json.loads(answer.body)
    return found


def _status(answer: Answer | None) -> int | None:
    return answer and answer.status


async def test_every_shard_is_the_one_that_envoy_finds(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        hosts = [f"{'x' * (it % 50)}{it * 7919:x}-h.tenant{it % 9}.test" for it in range(600)]
        hosts += ["a", "1.2.3.4", "under_score.test", "ü.test".encode("idna").decode()]
        hosts.append(".".join(["l" * 60] * 4))
        for host in hosts:
            proxy.world.host(world.PLAIN, host, world.route(nodes.Respond(200, host)))
        await _serve(proxy, ports[0], hosts[0])
        for host in hosts:
            for written in (host, host.upper(), f"{host}:8080"):
                answer = await ask(ports[0], written)
                assert answer is not None
                assert answer.body == host, written


async def test_the_most_specific_host_answers(tmp_path: Path, ports: tuple[int, int]) -> None:
    async with _world(tmp_path, ports) as proxy:
        for host in ("a.test", "*.test", "*.wild.test", "x.wild.test", "*"):
            proxy.world.host(world.PLAIN, host, world.route(nodes.Respond(200, host)))
        narrow = world.route(nodes.Respond(200), nodes.Exact("/narrow"))
        proxy.world.host(world.PLAIN, "narrow.test", narrow)
        await _serve(proxy, ports[0], "a.test")
        for asked, expected in {
            "a.test": "a.test",
            "A.TeSt:99": "a.test",
            "b.test": "*.test",
            "y.wild.test": "*.wild.test",
            "y.z.wild.test": "*.wild.test",
            "x.wild.test": "x.wild.test",
            "other": "*",
            "[::1]:80": "*",
            "l" * 300: "*",
            f"{'l' * 300}.test": "*.test",
            f"{'l.' * 100}wild.test": "*.wild.test",
            "wild.test": "*.test",
            "test": "*",
            "..": "*",
            "narrow.test": 404,  # none of its routes match, and no wildcard may answer instead
        }.items():
            answer = await ask(ports[0], asked)
            assert answer is not None
            assert (answer.body or answer.status) == expected, asked


async def test_a_client_cannot_choose_its_shard(tmp_path: Path, ports: tuple[int, int]) -> None:
    async with _world(tmp_path, ports) as proxy:
        for host in ("a.test", "b.test"):
            proxy.world.host(world.PLAIN, host, world.route(world.forward(ONE)))
        await _serve(proxy, ports[0], "a.test")
        (other,) = shards.tables_of(world.PLAIN, "b.test", sharded=True)
        told = _told(await ask(ports[0], "a.test", **{shards.HEADER: other}))
        assert told["host"] == "a.test"
        assert shards.HEADER not in told["headers"]


async def test_what_names_no_host_or_several_is_refused(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        for host in ("a.test", "*.wild.test", "*"):
            proxy.world.host(world.PLAIN, host, world.route(world.forward(ONE)))
        await _serve(proxy, ports[0], "a.test")
        for junk in ("user@a.test", "a.test:", "a.test,b.test", "a.test:1@b.test", "x,y.wild.test"):
            assert _status(await ask(ports[0], junk)) == 400, junk
        assert _status(await ask(ports[0], "a.test", method="TRACE")) == 405
        assert _status(await ask(ports[0], "A.test", method="TRACE")) == 405


async def test_the_single_mode_answers_alike(tmp_path: Path, ports: tuple[int, int]) -> None:
    async with _world(tmp_path, ports) as proxy:
        proxy.world.engine.write(world.SETTINGS, (), Settings(routing="Single"))
        for host in ("a.test", "*.wild.test"):
            proxy.world.host(world.PLAIN, host, world.route(world.forward(ONE)))
            proxy.world.host(world.SECURE, host, world.route(world.forward(TWO)))
            proxy.world.secure(host, world.tls())
        await _serve(proxy, ports[0], "a.test")
        assert _status(await ask(ports[0], "A.test:80")) == 200
        assert _status(await ask(ports[0], "y.wild.test")) == 200
        assert _status(await ask(ports[0], "other")) == 404
        assert _status(await until(ports[1], "a.test", 200, sni="a.test")) == 200
        assert _status(await ask(ports[1], "y.wild.test", sni="a.test")) == 421
        assert _status(await ask(ports[0], "a.test", method="TRACE")) == 405
        for junk in ("user@a.test", "a.test:", "a.test,b.test", "a.test:1@b.test", "x,y.wild.test"):
            assert _status(await ask(ports[0], junk)) == 400, junk
        assert _status(await ask(ports[1], "other", sni="other")) is None
        proxy.world.host(world.SECURE, "*", world.route(nodes.Respond(200, "*")))
        proxy.world.secure("*", world.tls("any"))
        await proxy.publish()
        assert _status(await until(ports[1], "other", 200, sni="other")) == 200
        assert _status(await ask(ports[1], "a.test", sni="other")) == 421
        assert _status(await ask(ports[1], "other", sni="a.test")) == 421


async def test_a_connection_reaches_the_host_it_was_opened_for_and_no_other(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        for host, tls in {
            "a.test": world.tls(),
            "b.test": world.tls(),
            "*.wild.test": world.tls("wild"),
            "x.wild.test": world.tls("cert", minimum="1.3"),
            "*": world.tls("any"),
        }.items():
            proxy.world.host(world.SECURE, host, world.route(nodes.Respond(200, host)))
            proxy.world.secure(host, tls)
        await _serve(proxy, ports[1], "a.test", sni="a.test")
        for sni, asked, expected in (
            ("a.test", "a.test", "a.test"),
            ("A.Test", "a.TEST:8443", "a.test"),
            ("a.test", "b.test", 421),
            ("a.test", "a.test.", "a.test"),
            ("b.test", "b.test", "b.test"),
            ("y.wild.test", "y.wild.test", "*.wild.test"),
            ("y.wild.test", "z.wild.test", 421),
            ("x.wild.test", "x.wild.test", "x.wild.test"),
            ("other.test", "other.test", "*"),
            # Whoever names no host we know reaches `*` alone, and that only for such hosts.
            ("other.test", "a.test", 421),
            ("other.test", "x.wild.test", 421),
            ("other.test", "y.wild.test", 421),
            ("", "a.test", 421),
            ("", "127.0.0.1:8443", "*"),
        ):
            answer = await ask(ports[1], asked, sni=sni)
            assert answer is not None, (sni, asked)
            got = answer.body if answer.status == 200 else answer.status
            assert got == expected, (sni, asked)


async def test_without_a_default_host_unknown_names_are_hung_up_on(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        proxy.world.host(world.SECURE, "*.wild.test", world.route(nodes.Respond(200)))
        proxy.world.secure("*.wild.test", world.tls("wild"))
        await _serve(proxy, ports[1], "y.wild.test", sni="y.wild.test")
        assert await ask(ports[1], "a.test", sni="a.test") is None
        assert await ask(ports[1], "y.wild.test", sni="") is None


REWRITES: list[tuple[nodes.Path, str, str, str]] = [
    # (what the route matches, what replaces it, requested, what the backend sees)
    (nodes.Segments("/foo"), "/xyz", "/foo/bar", "/xyz/bar"),
    (nodes.Segments("/foo"), "/xyz/", "/foo/bar", "/xyz/bar"),
    (nodes.Segments("/foo"), "/xyz", "/foo", "/xyz"),
    (nodes.Segments("/foo"), "/xyz", "/foo/", "/xyz/"),
    (nodes.Segments("/foo"), "/", "/foo/bar?q=1", "/bar?q=1"),
    (nodes.Segments("/foo"), "", "/foo/bar", "/bar"),
    (nodes.Segments("/foo"), "/", "/foo", "/"),
    (nodes.Segments("/foo"), "/", "/foo/", "/"),
    (nodes.Prefix("/"), "/xyz", "/bar", "/xyz/bar"),
    (nodes.Prefix("/"), "/", "/bar", "/bar"),
    (nodes.Prefix("/foo/"), "/xyz", "/foo/bar", "/xyz/bar"),
    (nodes.Prefix("/foo/"), "/", "/foo/bar", "/bar"),
    (nodes.Segments("/a.b+c"), "/", "/a.b+c/d", "/d"),
    (nodes.Exact("/foo"), "/xyz", "/foo", "/xyz"),
    (nodes.Segments("/foo"), r"/x\1y", "/foo/bar", r"/x\1y/bar"),
]


async def test_paths_are_rewritten_as_the_gateway_api_says(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        for number, (path, prefix, _, _) in enumerate(REWRITES):
            forward = world.forward(ONE, rewrite=nodes.Rewrite(prefix=prefix))
            proxy.world.host(world.PLAIN, f"r{number}.test", world.route(forward, path))
            redirect = nodes.Redirect(302, prefix=prefix)
            proxy.world.host(world.PLAIN, f"d{number}.test", world.route(redirect, path))
        whole = nodes.Rewrite("other.test", full_path=r"/new\1%")
        proxy.world.host(world.PLAIN, "a.test", world.route(world.forward(ONE, rewrite=whole)))
        await _serve(proxy, ports[0], "a.test")
        for number, (_, _, asked, expected) in enumerate(REWRITES):
            told = _told(await ask(ports[0], f"r{number}.test", asked))
            assert told["path"] == expected, REWRITES[number]
            answer = await ask(ports[0], f"d{number}.test", asked)
            assert answer is not None
            sent_to = answer.headers["location"].removeprefix(f"http://d{number}.test")
            assert sent_to == expected, REWRITES[number]
        told = _told(await ask(ports[0], "a.test", "/some/path?q=1"))
        assert (told["host"], told["path"]) == ("other.test", r"/new\1%?q=1")


async def test_what_a_route_says_happens_to_its_requests(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        here = proxy.world.host
        literal = nodes.HeaderPolicy(set=(("x-set", "100% %REQ(host)%"), ("x-none", "")))
        mixed = nodes.Forward((nodes.Backend(ONE), nodes.Backend(None)))
        outer = nodes.HeaderPolicy(set=(("x-who", "route"),))
        inner = nodes.HeaderPolicy(set=(("x-who", "backend"),))
        inside = nodes.Forward((nodes.Backend(ONE, request_headers=inner),))
        secure = nodes.Redirect(301, scheme="https")
        here(world.PLAIN, "a.test", world.route(world.forward(ONE), request_headers=literal))
        here(world.PLAIN, "mixed.test", world.route(mixed))
        here(world.PLAIN, "none.test", world.route(nodes.Forward((nodes.Backend(None),))))
        here(world.PLAIN, "who.test", world.route(inside, request_headers=outer))
        here(world.PLAIN, "secure.test", world.route(secure))
        here(world.PLAIN, "*.secure.test", world.route(secure))
        here(world.PLAIN, "empty.test")
        await _serve(proxy, ports[0], "a.test")
        told = _told(await ask(ports[0], "a.test"))["headers"]
        assert isinstance(told, dict)
        assert (told["x-set"], told["x-none"]) == ("100% %REQ(host)%", "")
        answers = [_status(await ask(ports[0], "mixed.test")) for _ in range(20)]
        assert set(answers) == {200, 500}
        assert _status(await ask(ports[0], "none.test")) == 500
        assert _status(await ask(ports[0], "empty.test")) == 404
        assert '"x-who": "route"' in (await ask(ports[0], "who.test") or Answer(0, {}, "")).body
        for host in ("secure.test:80", "x.secure.test"):
            answer = await ask(ports[0], host, "/p?q=1")
            assert answer is not None
            assert answer.headers["location"] == f"https://{host.partition(':')[0]}/p?q=1"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/admin", 403),
        ("/./admin", 403),
        ("//admin", 403),
        ("/x/../admin", 403),
        ("/%61dmin", 403),
        ("/admin%2fx", 307),
        ("/x%5c..%5cadmin", 307),
        ("/open", 200),
    ],
)
async def test_no_spelling_of_a_path_walks_past_its_route(
    shared: tuple[Proxy, int], path: str, status: int
) -> None:
    assert _status(await ask(shared[1], "a.test", path)) == status


async def test_headers_with_underscores_are_refused(shared: tuple[Proxy, int]) -> None:
    assert _status(await ask(shared[1], "a.test", "/open", X_User="root")) == 400


@pytest.fixture
async def shared(tmp_path: Path, ports: tuple[int, int]) -> AsyncIterator[tuple[Proxy, int]]:
    async with _world(tmp_path, ports) as proxy:
        denied = world.route(nodes.Respond(403), nodes.Segments("/admin"))
        proxy.world.host(world.PLAIN, "a.test", denied, world.route(nodes.Respond(200)))
        await _serve(proxy, ports[0], "a.test")
        yield proxy, ports[0]


async def test_hosts_that_come_and_go_cut_no_response(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    """Draining lasts one second here, so a drained connection would not live through this."""
    async with _world(tmp_path, ports) as proxy:
        for host, tls in {"a.test": "cert", "*.wild.test": "wild", "*": "any"}.items():
            proxy.world.host(world.SECURE, host, world.route(world.forward(ONE)))
            proxy.world.secure(host, world.tls(tls))
        await _serve(proxy, ports[1], "a.test", sni="a.test")
        async with asyncio.TaskGroup() as group:
            streams = [
                group.create_task(ask(ports[1], host, "/stream?seconds=3", sni=host))
                for host in ("a.test", "y.wild.test", "other.test")
            ]
            added = ("b.test", "*.b.test", "x.wild.test", "c.test", "*.c.test")
            for number, host in enumerate(added):
                proxy.world.host(world.SECURE, host, world.route(nodes.Respond(202, host)))
                proxy.world.secure(host, world.tls("cert", minimum="1.3" if number == 3 else "1.2"))
                await proxy.publish()
                asked = host.replace("*", "y")
                await until(ports[1], asked, 202, sni=asked)  # 200 is the answer of the host *
            for host in added:
                proxy.world.no_host(world.SECURE, host)
                proxy.world.secure(host, None)
            await proxy.publish()
            while _status(await ask(ports[1], "b.test", sni="b.test")) != 200:
                await asyncio.sleep(0.01)
            assert not any(it.done() for it in streams)
        for stream in streams:
            answer = stream.result()
            assert answer is not None
            assert [json.loads(it)["piece"] for it in _lines(answer.body)] == list(range(10))
        assert await proxy.counter("listener_manager.listener_in_place_updated") >= len(added)
        assert await proxy.counter("listener_manager.listener_added") == 2


def _lines(chunked: str) -> list[str]:
    return [it for it in chunked.split("\r\n") if it.startswith("{")]


async def test_a_renewed_certificate_is_served_without_a_new_listener(
    tmp_path: Path, ports: tuple[int, int]
) -> None:
    async with _world(tmp_path, ports) as proxy:
        proxy.world.host(world.SECURE, "a.test", world.route(nodes.Respond(200)))
        proxy.world.secure("a.test", world.tls())
        await _serve(proxy, ports[1], "a.test", sni="a.test")
        before = await proxy.counter("listener_manager.lds.update_success")
        renewed = nodes.Secret(*pairs.pair(7))
        proxy.world.engine.write(world.SECRETS, NamespacedName("shop", "cert"), renewed)
        await proxy.publish()
        async with asyncio.timeout(PATIENCE):
            while await proxies.certificate(ports[1], "a.test") != renewed.chain:
                await asyncio.sleep(0.01)
        assert await proxy.counter("listener_manager.lds.update_success") == before


async def test_envoy_refuses_nothing(tmp_path: Path, ports: tuple[int, int]) -> None:
    """Every kind of node at once, and not one counter of refusals moves."""
    async with _world(tmp_path, ports) as proxy:
        every = [
            world.route(action, path, request_headers=nodes.HeaderPolicy(set=(("x", "%"),)))
            for action in ACTIONS
            for path in (nodes.Exact("/e"), nodes.Segments("/s"), nodes.Regex("/r.*"), None)
        ]
        dns = world.cluster("dns", dns=nodes.DnsAddress("localhost", 80))
        every.append(world.route(world.forward(dns, world.cluster("h2", protocol="h2c"))))
        proxy.world.host(world.SECURE, "every.test", *every)
        proxy.world.host(world.PLAIN, "every.test", *every)
        proxy.world.host(world.PLAIN, "a.test", world.route(nodes.Respond(200)))
        proxy.world.secure("every.test", world.tls(minimum="1.3"))
        await _serve(proxy, ports[0], "a.test")
        await until(ports[1], "every.test", 201, sni="every.test")
        refused = await proxy.admin("stats?filter=update_rejected&usedonly")
        assert not [it for it in refused.splitlines() if not it.endswith(": 0")]
        assert "rejected" not in proxy.log()


ACTIONS: tuple[nodes.Action, ...] = (
    nodes.Respond(201, "b" * 4096),
    nodes.Redirect(308, "https", "b.test", 8443, full_path="/p"),
    nodes.Redirect(301, prefix="/"),
    world.forward(
        ONE,
        TWO,
        timeout=0.0,
        idle_timeout=3.5,
        rewrite=nodes.Rewrite("b.test", prefix="/"),
        retry=nodes.Retry(("5xx",), 2, 1.0, (503,)),
        websockets=True,
    ),
    nodes.Forward((nodes.Backend(ONE, 2**32 - 2), nodes.Backend(None, 2**32 - 2))),
)
