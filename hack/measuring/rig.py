"""Everything a chaos run needs, each in a process of its own: backends, control plane, Envoy.

What is started here is ended here, by its process id. Traffic stays on the loopback interface.
"""

import asyncio
import contextlib
import json
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from contour import bootstrap
from contour.host import administration, installation
from dag.listeners import DEFAULT_FLEET
from hack.measuring import control_plane, instance
from hack.measuring.world import Document

DRAIN_SECONDS = 3
"""How long Envoy lets replaced listeners and chains live: shorter than the longest responses."""


@dataclass(frozen=True, slots=True)
class Took:
    """What the control plane says of a change, in seconds of the monotonic clock and MiB."""

    came: float
    published: float
    resident: float
    most: float
    processor: float


class ControlPlane:
    """The process; it can be killed and started again."""

    def __init__(self, folder: Path, ports: Iterable[tuple[int, int]]) -> None:
        self.socket = folder / "xds.sock"
        self._world = folder / "world.jsonl"
        self._ports = tuple(ports)
        self._process: asyncio.subprocess.Process | None = None

    def keep(self, documents: Iterable[Document]) -> None:
        """What the process finds when it starts the next time."""
        with self._world.open("w") as file:
            file.writelines(json.dumps(it) + "\n" for it in documents)

    async def start(self) -> dict[str, float]:
        """Returns as soon as the xDS port is open; what the process says of that."""
        settings = control_plane.Settings(str(self.socket), str(self._world), self._ports)
        self.socket.unlink(missing_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hack.measuring.control_plane", settings.text()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        return await self._line()

    async def change(self, put: Sequence[Document] = (), gone: Sequence[Document] = ()) -> Took:
        """One event, or several at one moment."""
        assert self._process is not None
        assert self._process.stdin is not None
        line = json.dumps({"put": put, "gone": gone}) + "\n"
        self._process.stdin.write(line.encode())
        return Took(**await self._line())

    async def kill(self) -> None:
        """Without a word."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _line(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise EOFError(f"the control plane ended with {await self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found


class Envoy:
    """A real Envoy without a supervisor, which outlives the control plane."""

    def __init__(
        self,
        folder: Path,
        control_plane_socket: Path,
        name: str = "envoy",
        resolver: str = "",
        drain_seconds: int = DRAIN_SECONDS,
    ) -> None:
        self.name = name
        self._drain_seconds = drain_seconds
        self._resolving = _resolving(folder, resolver) if resolver else ()
        self.admin = folder / f"{name}-admin.sock"
        self._log = folder / f"{name}.log"
        self.configuration = folder / f"{name}.json"
        self.configuration.write_text(
            bootstrap.text(
                bootstrap.Settings(
                    node=name,
                    fleet=DEFAULT_FLEET,
                    control_plane=bootstrap.Pipe(control_plane_socket),
                    admin=self.admin,
                )
            )
        )
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when it serves."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._resolving,
                *(str(installation.binary()), "--config-path", str(self.configuration)),
                *("--disable-hot-restart", "--drain-strategy", "immediate"),
                *("--drain-time-s", str(self._drain_seconds), "--log-level", "warning"),
                stdout=log,
                stderr=log,
            )
        asked = administration.Administration(self.admin)
        async with asyncio.timeout(60):
            while not await asked.is_live():
                await asyncio.sleep(0.02)

    @property
    def resident(self) -> float:
        """Its memory in MiB."""
        assert self._process is not None
        return instance.resident(self._process.pid)

    @property
    def most(self) -> float:
        """The most memory it ever had, in MiB."""
        assert self._process is not None
        return instance.resident(self._process.pid, "VmHWM")

    async def page(self, path: str) -> str:
        """What its administration interface answers."""
        connector = aiohttp.UnixConnector(path=str(self.admin))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(f"http://admin{path}") as answer,
        ):
            answer.raise_for_status()
            return await answer.text()

    async def counts(self, expression: str) -> dict[str, int]:
        """Its statistics whose names match."""
        lines = (await self.page(f"/stats?filter={expression}")).splitlines()
        pairs = (line.partition(": ") for line in lines)
        return {name: int(value) for name, _, value in pairs if value.isdigit()}

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")

    async def kill(self) -> None:
        """Ends it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@dataclass(slots=True)
class Rig:
    """A control plane and an Envoy that has what it serves."""

    folder: Path
    control: ControlPlane
    envoy: Envoy
    port: int
    tls_port: int


@contextlib.asynccontextmanager
async def backends(number: int, address: str = "127.0.0.1") -> AsyncIterator[tuple[int, ...]]:
    """Backends `b0`, `b1` …, all in one process; yields their ports."""
    names = [f"b{it}" for it in range(number)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "contour.demo.backends", "--address", address),
        *(f"{it}=0" for it in names),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # it tells of every client that goes
    )
    try:
        assert process.stdout is not None
        ports = json.loads(await process.stdout.readline())
        yield tuple(ports[it] for it in names)
    finally:
        process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def running(
    documents: Iterable[Document], resolver: str = "", drain_seconds: int = DRAIN_SECONDS
) -> AsyncIterator[Rig]:
    """The world, served; by an Envoy that resolves names there, if a DNS server is given."""
    with tempfile.TemporaryDirectory(prefix="measured-") as path:
        folder = Path(path)
        port, tls_port = free_port(), free_port()
        control = ControlPlane(folder, ((80, port), (443, tls_port)))
        envoy = Envoy(folder, control.socket, resolver=resolver, drain_seconds=drain_seconds)
        control.keep(documents)
        try:
            await control.start()
            await envoy.start()
            yield Rig(folder, control, envoy, port, tls_port)
        finally:
            await envoy.kill()
            await control.kill()


def _resolving(folder: Path, resolver: str) -> tuple[str, ...]:
    """Runs what follows with a view of the machine that knows this DNS server only."""
    path = folder / "resolv.conf"
    path.write_text(f"nameserver {resolver}\n")
    program = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", program, str(path))


def free_port() -> int:
    """A port of the loopback interface that nobody has right now."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        port: int = it.getsockname()[1]
        return port
