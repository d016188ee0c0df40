"""One Envoy for the tests of a module, with its peers and two backends behind it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from contour.demo import backends
from crds.meta import NamespacedName
from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served import peers
from tests.testbed import pairs, ports

ONE = world.cluster("one")
GRPC = nodes.ExtensionCluster(
    NamespacedName("shop", "grpc"),
    (nodes.WeightedPort(nodes.ServicePort(NamespacedName("shop", "grpc"), 80)),),
    protocol="h2c",
)
HTTP = nodes.ExtensionCluster(
    NamespacedName("shop", "http"),
    (nodes.WeightedPort(nodes.ServicePort(NamespacedName("shop", "http"), 80)),),
    protocol="http/1.1",
)
NOBODY = nodes.ExtensionCluster(
    NamespacedName("shop", "nobody"),
    (nodes.WeightedPort(nodes.ServicePort(NamespacedName("shop", "nobody"), 80)),),
    protocol="h2c",
)


@dataclass
class Served:
    """An Envoy that serves a module's hosts, on plain HTTP and behind TLS."""

    proxy: proxies.Proxy
    peers: peers.Peers
    plain: int
    secure: int

    async def ask(self, host: str, path: str = "/", **how: Any) -> proxies.Answer:
        answer = await proxies.ask(self.plain, host, path, **how)
        assert answer is not None
        return answer

    async def ask_both(self, host: str, path: str = "/", **how: Any) -> list[proxies.Answer]:
        """The answers on plain HTTP and behind TLS."""
        secure = await proxies.ask(self.secure, host, path, sni=host, **how)
        assert secure is not None
        return [await self.ask(host, path, **how), secure]

    def serve(self, host: str, *routes: nodes.Route, **more: Any) -> None:
        for listener in (world.PLAIN, world.SECURE):
            self.proxy.world.host(listener, host, *routes, **more)
        self.proxy.world.secure(host, world.tls())


Hosts = Callable[[Served], None]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def envoy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    """Serves what the module's `hosts(envoy)` writes."""
    folder: Path = tmp_path_factory.mktemp("envoy")
    plain, secure = ports.free_ports(2)
    async with (
        backends.serving({"one": 0, "two": 0}) as found,
        peers.serving() as asked,
        proxies.proxy(folder) as proxy,
    ):
        made = proxy.world
        made.listeners(world.plain_listener(plain), world.secure_listener(secure))
        made.endpoints(ONE, found["one"])
        made.endpoints(world.cluster("many"), *found.values())
        for cluster, port in ((GRPC, asked.grpc), (HTTP, asked.http)):
            endpoints = nodes.Endpoints((nodes.Endpoint("127.0.0.1", port),))
            made.engine.write(world.ENDPOINTS, cluster.services[0].port, endpoints)
        pair = nodes.Secret(*pairs.pair())
        made.engine.write(world.SECRETS, NamespacedName("shop", "cert"), pair)
        served = Served(proxy, asked, plain, secure)
        request.module.hosts(served)
        served.serve("ready.test", world.route(nodes.Respond(200)))
        await proxy.publish()
        await proxy.start()
        await proxies.until(plain, "ready.test", 200)
        await proxies.until(secure, "ready.test", 200, sni="ready.test")
        await peers.eventually(lambda: proxy.fleet.acceptance.is_settled)
        yield served
        assert [it.words for _, _, it in proxy.fleet.quarantine] == []
