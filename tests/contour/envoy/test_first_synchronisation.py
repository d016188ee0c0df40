"""A control plane that freezes while a new Envoy is told everything for the first time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import aiohttp
import pytest

from contour import bootstrap
from contour.demo import backends
from contour.host import installation
from contour.xds import fleet as xds_fleet
from contour.xds import resources
from contour.xds.server import Server
from crds.meta import NamespacedName
from dag import nodes
from tests.contour.envoy import freezing, proxies, world
from tests.testbed import pairs, ports

pytestmark = [
    pytest.mark.envoy,
]

STEPS = 12
"""More than the messages that an Envoy is sent until it serves: the last ones never freeze."""

LEAST_STEPS = 6
"""There are eight types; some of them go out together."""

GIVES_UP = 17.0
"""Seconds; Envoy waits 15 for what it asked for, unless it is told otherwise."""

ONE = world.cluster("one")
TOKENS = nodes.JwtProvider("shop/front/one", nodes.LocalJwks('{"keys": []}'))


class Newcomer:
    """An Envoy of a fleet of its own, behind a control plane that freezes after some messages."""

    def __init__(self, folder: Path, relay: freezing.Relay, plain: int, secure: int) -> None:
        self.relay = relay
        self.step = folder.name
        self._folder = folder
        self._plain = plain
        self._secure = secure

    async def is_ready(self) -> bool:
        """What Envoy says of itself; no while it does not say anything."""
        connector = aiohttp.UnixConnector(str(self._folder / "admin"))
        async with aiohttp.ClientSession(connector=connector) as session:
            try:
                async with session.get("http://admin/ready") as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

    async def serves(self) -> list[int]:
        """The statuses of the host on plain HTTP and behind TLS; 0 is no answer at all."""
        plain = await proxies.ask(self._plain, "a.test")
        secure = await proxies.ask(self._secure, "a.test", sni="a.test")
        return [it.status if it else 0 for it in (plain, secure)]

    async def until_ready(self) -> None:
        async with asyncio.timeout(60):
            while not await self.is_ready():
                await asyncio.sleep(0.05)

    async def until_frozen_or_ready(self) -> None:
        async with asyncio.timeout(60):
            while not (self.relay.is_frozen or await self.is_ready()):
                await asyncio.sleep(0.05)


def _world(backend: int, plain: int, secure: int) -> list[resources.Change]:
    """Every type that Envoy is sent: a host on both listeners, with a guard told by ECDS."""
    made = world.World()
    made.listeners(world.plain_listener(plain), world.secure_listener(secure))
    made.endpoints(ONE, backend)
    made.engine.write(world.SECRETS, NamespacedName("shop", "cert"), nodes.Secret(*pairs.pair(0)))
    route = world.route(world.forward(ONE))
    for listener in (world.PLAIN, world.SECURE):
        made.host(listener, "a.test", route, jwt_providers=(TOKENS,))
    made.secure("a.test", world.tls())
    return made.settle()


@contextlib.asynccontextmanager
async def _newcomer(
    folder: Path, fleet: xds_fleet.Fleet, backend: int, most: int, lacking: str
) -> AsyncIterator[Newcomer]:
    plain, secure = ports.free_ports(2)
    told = _world(backend, plain, secure)
    fleet.publish([it for it in told if it.name.type_url != lacking])
    home = folder / fleet.name
    home.mkdir()
    given = bootstrap.Settings(
        node="one",
        fleet=fleet.name,
        control_plane=bootstrap.Pipe(home / "xds"),
        admin=home / "admin",
    )
    (home / "bootstrap.json").write_text(bootstrap.text(given))
    async with freezing.relaying(folder / "xds", home / "xds", most) as relay:
        process = await asyncio.create_subprocess_exec(
            *(str(installation.binary()), "-c", str(home / "bootstrap.json"), "--concurrency", "1"),
            *("--use-dynamic-base-id", "-l", "warning", "--log-path", str(home / "envoy.log")),
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            yield Newcomer(home, relay, plain, secure)
        finally:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def _newcomers(
    folder: Path, steps: Iterable[int], lacking: str = ""
) -> AsyncIterator[list[Newcomer]]:
    """Envoys whose control planes freeze after so many messages (-1: never), and lack a type."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(world.nodes_as_rows())
        found = await stack.enter_async_context(backends.serving({"one": 0}))
        server = Server((f"unix:{folder / 'xds'}",))
        made = [
            await stack.enter_async_context(
                _newcomer(folder, server.fleet(f"after {it}"), found["one"], it, lacking)
            )
            for it in steps
        ]
        await server.start()
        stack.push_async_callback(server.stop, 0)
        yield made


async def test_an_envoy_is_ready_when_it_serves_wherever_its_control_plane_freezes(
    tmp_path: Path,
) -> None:
    async with _newcomers(tmp_path, range(STEPS)) as newcomers:
        for it in newcomers:
            await it.until_frozen_or_ready()
        await asyncio.sleep(GIVES_UP)
        ready = [it for it in newcomers if await it.is_ready()]
        answers = {it.step: await it.serves() for it in ready}
        assert answers == {step: [200, 200] for step in answers}
        assert len(newcomers) - len(ready) >= LEAST_STEPS
        for it in newcomers:
            it.relay.thaw()
            await it.until_ready()
            assert await it.serves() == [200, 200], it.step


@pytest.mark.parametrize(
    ("lacking", "answers"),
    [
        (resources.RUNTIME_LAYER, [200, 200]),
        (resources.ENDPOINTS, [503, 503]),
        (resources.SECRET, [200, 0]),
    ],
)
async def test_what_does_not_exist_keeps_no_envoy_waiting(
    tmp_path: Path, lacking: str, answers: list[int]
) -> None:
    async with _newcomers(tmp_path, [-1], lacking) as (newcomer,):
        await newcomer.until_ready()
        assert await newcomer.serves() == answers
