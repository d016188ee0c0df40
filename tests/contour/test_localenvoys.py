"""An Envoy for each Gateway of this machine, with its Gateway, in this process."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from contour import host, rundir
from contour.console import served
from contour.host import state
from contour.instance import Instance
from contour.localenvoys import FOLDER, Given, LocalEnvoys
from contour.xds.server import Server
from crds.custombootstrap import CustomBootstrap
from crds.meta import NamespacedName
from dag.plan import STATUSES
from dag.ports import HostPorts
from dag.statuses import GatewayStatus
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, http
from tests.testbed import world
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

PATIENCE = 120
ONLY = configuration("gateway: {mode: PerGateway, only: true}")


class Machine:
    """An instance in this process, and the Envoys of its Gateways."""

    def __init__(
        self,
        directory: state.StateDirectory,
        bootstrap: CustomBootstrap | None = None,
        drain: float = 0,
    ) -> None:
        self.directory = directory
        self.changed = asyncio.Event()
        socket = directory.socket("xds.sock")
        self.server = Server((f"unix:{socket}",))
        self.instance = Instance(self.server, on_fleets_changed=self.changed.set)
        self.instance.controller.use_host_ports(HostPorts("127.0.0.1"))
        options = host.EnvoyOptions(concurrency=1, drain_seconds=drain)
        given = Given(options, bootstrap=bootstrap)
        self.envoys = LocalEnvoys(
            directory, socket, self.server, self.instance.controller, given, None
        )

    def put(self, *texts: str) -> None:
        self.instance.take(world.batch(*_documents(texts)))

    def gone(self, *texts: str) -> None:
        self.instance.take(world.batch(gone=_documents(texts)))

    def status(self, name: str) -> GatewayStatus:
        key = NamespacedName("default", name)
        found = self.instance.controller.engine.answer(STATUSES["Gateway"], key)
        assert isinstance(found, GatewayStatus)
        return found

    def addresses(self, name: str) -> list[str]:
        return [it.value for it in self.status(name).addresses or ()]

    def folder(self, name: str) -> Path:
        return self.directory.path / FOLDER / f"default.{name}"

    def envoy(self, name: str) -> int | None:
        """The process that is ready to serve a Gateway."""
        ready = self.folder(name) / "ready"
        return int(os.readlink(ready).split("/")[2]) if ready.is_symlink() else None

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.02)

    async def clusters(self, name: str) -> str:
        """What the Envoy of a Gateway says of its clusters."""
        connector = aiohttp.UnixConnector(str(rundir.socket(self.folder(name), host.ADMIN)))
        async with (
            aiohttp.ClientSession("http://admin", connector=connector) as session,
            session.get("/clusters") as found,
        ):
            return await found.text()

    def programmed(self, name: str) -> tuple[str, str]:
        """The status of the condition, and its message."""
        every = self.status(name).conditions
        return next((it.status, it.message) for it in every if it.type == "Programmed")

    def told(self, name: str) -> str:
        return " ".join(it.message for it in self.status(name).conditions)

    async def answer(self, name: str) -> int:
        (listener,) = self.instance.controller.listeners(f"default/{name}")
        url = f"http://127.0.0.1:{listener.bind_port}/"
        async with aiohttp.ClientSession() as session, session.get(url) as found:
            return found.status


@asynccontextmanager
async def machine(
    tmp_path: Path, *texts: str, bootstrap: CustomBootstrap | None = None, drain: float = 0
) -> AsyncGenerator[Machine]:
    with state.claimed(tmp_path / "state") as directory:
        it = Machine(directory, bootstrap, drain)
        it.put(*texts)
        await it.server.start()
        try:
            async with it.envoys, asyncio.TaskGroup() as tasks:
                running = tasks.create_task(it.envoys.run(it.changed))
                await it.envoys.live()
                yield it
                running.cancel()
        finally:
            await it.server.stop()


def _documents(texts: tuple[str, ...]) -> list[world.Document]:
    return [it for it in yaml.load_all("".join(texts), yaml.CSafeLoader) if it]


async def test_an_envoy_comes_and_goes_with_its_gateway(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    one, two = (gateway(it, http(port=port)) for it in ("one", "two"))
    async with machine(tmp_path, ONLY, gateway_class(), one) as it:
        assert it.addresses("one") == ["127.0.0.1"]
        assert await it.answer("one") == 404
        first = it.envoy("one")
        it.put(two)
        await it.until(lambda: it.addresses("two") == ["127.0.0.1"])
        assert await it.answer("two") == 404
        it.gone(two)
        await it.until(lambda: it.envoy("two") is None)
        it.put(two)
        await it.until(lambda: it.addresses("two") == ["127.0.0.1"])
        assert it.envoy("one") == first


async def test_a_gateway_that_is_back_while_its_envoy_drains_waits_for_another_one(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    one = gateway("one", http(port=port))
    async with machine(tmp_path, ONLY, gateway_class(), one, drain=PATIENCE) as it:
        first, waiting = it.envoy("one"), "its Envoy starts when the former one has drained"
        await it.until(lambda: it.programmed("one")[0] == "True")
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n")
        await writer.drain()
        it.gone(one)
        await it.until(lambda: it.envoy("one") is None)
        it.put(one)
        await it.until(lambda: waiting in it.told("one"))
        # Long enough for Envoy to ask for its configuration again.
        for _ in range(20):
            await asyncio.sleep(0.1)
            assert it.programmed("one")[0] == "False"
            assert not [*served.listening(it.instance)]
        writer.close()
        await it.until(lambda: it.programmed("one") == ("True", "Envoy serves it"))
        assert it.envoy("one") not in (None, first)
        assert await it.answer("one") == 404


async def test_an_envoy_that_dies_is_started_again(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    async with machine(tmp_path, ONLY, gateway_class(), gateway("one", http(port=port))) as it:
        first = it.envoy("one")
        assert first is not None
        os.kill(first, 9)
        await it.until(lambda: it.envoy("one") not in (None, first))
        await it.until(lambda: it.addresses("one") == ["127.0.0.1"])
        assert await it.answer("one") == 404


async def test_a_folder_that_cannot_be_used_is_the_trouble_of_one_gateway(tmp_path: Path) -> None:
    ports = free_ports(2)
    one, two = (
        gateway(it, http(port=port)) for it, port in zip(("one", "two"), ports, strict=True)
    )
    folder = tmp_path / "state" / FOLDER / "default.two"
    with state.claimed(tmp_path / "state"):
        folder.mkdir(parents=True)
        (folder / "somebody").write_text("else's")
    async with machine(tmp_path, ONLY, gateway_class(), one, two) as it:
        assert await it.answer("one") == 404
        assert not it.addresses("two")
        assert "no Envoy can be started" in it.told("two")
        (folder / "somebody").unlink()
        await it.until(lambda: it.addresses("two") == ["127.0.0.1"])
        assert await it.answer("two") == 404
        assert "no Envoy can be started" not in it.told("two")


@pytest.mark.parametrize("length", [10, 253])
async def test_a_gateway_may_have_any_name(tmp_path: Path, length: int) -> None:
    (port,) = free_ports(1)
    name = "a" * 63 if length > 63 else "a" * length
    while len(name) < length:
        name += "." + "b" * min(63, length - len(name) - 1)
    async with machine(tmp_path, ONLY, gateway_class(), gateway(name, http(port=port))) as it:
        assert await it.answer(name) == 404


def merged(name: str) -> str:
    """A bootstrap with another cluster."""
    cluster = f"{{static_resources: {{clusters: [{{name: {name}, connect_timeout: 1s}}]}}}}"
    return f"bootstrap: {{type: Merge, value: '{cluster}'}}"


def proxy(bootstrap: str) -> str:
    return (
        "---\napiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyProxy\n"
        f"metadata: {{name: edge, namespace: default}}\nspec: {{{bootstrap}}}\n"
    )


NAMED = configuration("gateway: {mode: PerGateway, only: true, parametersNamespaces: [default]}")
CLASS = gateway_class().replace(
    "controllerName",
    "parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: edge, "
    "namespace: default}, controllerName",
)


@pytest.mark.parametrize("is_proxy", [True, False])
async def test_a_bootstrap_that_is_written_is_what_an_envoy_starts_with(
    tmp_path: Path, is_proxy: bool
) -> None:
    def saying(text: str) -> tuple[str, ...]:
        if is_proxy:
            return NAMED, CLASS, proxy(text)
        spec = f"gateway: {{mode: PerGateway, only: true}}, envoy: {{{text}}}"
        return configuration(spec), gateway_class()

    (port,) = free_ports(1)
    async with machine(tmp_path, *saying(merged("extra")), gateway("one", http(port=port))) as it:
        assert "extra::" in await it.clusters("one")
        assert "bootstrap" not in it.told("one")
        it.put(*saying(merged("other")))
        await it.until(lambda: "until contour run starts again" in it.told("one"))
        assert "extra::" in await it.clusters("one")
        it.put(*saying(merged("extra")))
        await it.until(lambda: "bootstrap" not in it.told("one"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("bootstrap: {type: Merge, value: '{dynamic_resources: {ads_config: {api_type: GRPC}}}'}",
         "must stay"),
        (merged("contour"), "contour"),
        (merged("x").replace("connect_timeout: 1s", "type: EDS"), "Envoy refuses it"),
    ],
)  # fmt: skip
async def test_a_bad_one_is_told_and_the_usual_one_serves(
    tmp_path: Path, text: str, fault: str
) -> None:
    (port,) = free_ports(1)
    own = gateway("one", http(port=port))
    async with machine(tmp_path, NAMED, CLASS, proxy(text), own) as it:
        assert await it.answer("one") == 404
        assert fault in it.told("one")
        assert "EnvoyProxy default/edge: spec.bootstrap" in it.told("one")
        assert "runs with the usual bootstrap" in it.told("one")


async def test_that_of_the_command_line_wins_and_its_ports_are_held_by_one(tmp_path: Path) -> None:
    one, two, admin = free_ports(3)
    named = CustomBootstrap(type="Merge", value=(
        f"admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}}}"
    ))  # fmt: skip
    texts = NAMED, CLASS, proxy(merged("extra")), gateway("one", http(port=one))
    async with machine(tmp_path, *texts, bootstrap=named) as it:
        url = f"http://127.0.0.1:{admin}/clusters"
        async with aiohttp.ClientSession() as session, session.get(url) as found:
            assert "extra::" not in await found.text()
        assert "has no effect beside --bootstrap" in it.told("one")
        it.put(gateway("two", http(port=two)))
        await it.until(lambda: "no Envoy can be started" in it.told("two"))
        assert "administration interface of Gateway default/one" in it.told("two")
        assert await it.answer("one") == 404
        it.gone(gateway("one", http(port=one)))  # and with it, who holds the port
        await it.until(lambda: it.addresses("two") == ["127.0.0.1"])
        assert await it.answer("two") == 404


async def test_one_that_dies_at_its_start_is_told_with_its_words_and_started_again(
    tmp_path: Path,
) -> None:
    """Envoy takes the bootstrap, and cannot have the port of its administration interface."""
    (port, admin) = free_ports(2)
    named = CustomBootstrap(type="Merge", value=(
        f"admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}}}"
    ))  # fmt: skip
    texts = NAMED, CLASS, proxy(merged("extra")), gateway("one", http(port=port))
    with socket.create_server(("127.0.0.1", admin)) as other:
        async with machine(tmp_path, *texts, bootstrap=named) as it:
            await it.until(lambda: "in use" in it.told("one"))
            assert not it.addresses("one")
            other.close()
            await it.until(lambda: it.addresses("one") == ["127.0.0.1"])
            assert "in use" not in it.told("one")
