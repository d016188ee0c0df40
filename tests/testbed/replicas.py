"""Replicas of `contour serve` and their Envoys, each in a process of its own."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import aiohttp

from tests.testbed import commands, envoys, processes, world
from tests.testbed.ports import free_ports
from tests.testbed.programs import PATIENCE, Program
from tests.testbed.world import Document

NAMESPACE = "projectcontour"
COMMAND = str(Path(sys.executable).with_name("contour"))
"""The program of this environment."""


class Replica(Program):
    """`contour serve`; it can be frozen, killed and started again."""

    def __init__(self, folder: Path, name: str, kubeconfig: Path, *flags: str) -> None:
        self.name = name
        self.port, self._pages, self._debug = free_ports(3)
        self.log = folder / f"{name}.log"
        ports = (self.port, self._pages, self._debug)
        given = commands.serve(kubeconfig, folder / "certificates", ports)
        self._command = (COMMAND, *given, "--namespace", NAMESPACE, *flags)

    async def launch(self, environment: Mapping[str, str] | None = None) -> None:
        """Starts the process, without waiting until it is ready."""
        with self.log.open("ab") as output:
            variables = os.environ | (environment or {})
            await self.spawn(*self._command, stdout=output, stderr=output, env=variables)

    async def start(self, environment: Mapping[str, str] | None = None) -> float:
        """Starts it and waits until it is ready; returns the seconds that took."""
        start = time.monotonic()
        await self.launch(environment)
        await self.ready()
        return time.monotonic() - start

    async def ready(self) -> None:
        """Waits until it is ready."""
        async with asyncio.timeout(PATIENCE):
            while not await self.is_ready():
                if self.status is not None:
                    raise RuntimeError(f"{self.name} ended with {self.status}: {self._last_words}")
                await asyncio.sleep(0.005)

    async def is_ready(self) -> bool:
        """Whether its readiness page says that it is ready."""
        try:
            return (await self.page("/readyz"))[0] == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def page(self, path: str) -> tuple[int, str]:
        """The content of one of its pages, which include those for debugging."""
        port = self._debug if path.startswith("/debug") else self._pages
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=70)) as session,
            session.get(f"http://127.0.0.1:{port}{path}") as answer,
        ):
            return answer.status, await answer.text()

    async def metrics(self) -> dict[str, float]:
        """Its metrics by name and labels."""
        _, text = await self.page("/metrics")
        pairs = (it.rpartition(" ") for it in text.splitlines() if not it.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    @property
    def _last_words(self) -> str:
        return " | ".join(self.log.read_text(errors="replace").splitlines()[-3:])


class ControlPlane(Protocol):
    """The control plane of an Envoy: a replica, or the Service of all replicas."""

    @property
    def port(self) -> int:
        """The xDS port on this machine."""
        ...


class Envoy(envoys.Envoy):
    """An Envoy that is connected to a replica, or to the one that its Service chooses."""

    def __init__(self, folder: Path, name: str, of: ControlPlane) -> None:
        super().__init__(folder, name)
        given = commands.bootstrap(
            self.configuration,
            of.port,
            self.admin,
            folder / f"{name}-secrets",
            folder / "certificates",
        )
        processes.called(*given, "--node", name, "--stats-port", "0")


def make_certificates(folder: Path) -> None:
    """Makes the certificates of the replicas and Envoys whose files are in this folder."""
    processes.called(*commands.certgen(folder / "certificates", NAMESPACE))


def own_address() -> str:
    """An address of this machine other than loopback, which no EndpointSlice may have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses a route
        return str(probe.getsockname()[0])


def installation(http: int, https: int) -> Iterator[Document]:
    """Contour's namespace and those of a world, and a ContourConfiguration with these Envoy
    ports."""
    for name in (NAMESPACE, *map(world.namespace, range(world.NAMESPACES))):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    ports = {"http": http, "https": https}
    yield world.configuration(
        envoy={name: {"address": "127.0.0.1", "port": port} for name, port in ports.items()},
        gateway={"controllerName": "projectcontour.io/gateway-controller"},
    )
