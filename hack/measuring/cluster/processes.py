"""The processes of an instance in a cluster, and what each of them costs."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import aiohttp

from hack.measuring import instance, program
from hack.measuring.faults import processes
from tests.testbed.ports import free_ports

NAMESPACE = "projectcontour"
PATIENCE = 120.0
FAST = (
    *("--leader-election-lease-duration", "3s", "--leader-election-renew-deadline", "2s"),
    *("--leader-election-retry-period", "200ms"),
)
_TICKS = os.sysconf("SC_CLK_TCK")


class Replica:
    """`contour serve`; it can be frozen, killed and started again."""

    def __init__(self, folder: Path, name: str, kubeconfig: Path, *flags: str) -> None:
        self.name = name
        self.port, self._pages, self._debug = free_ports(3)
        self.log = folder / f"{name}.log"
        certificates = folder / "certificates"
        self._command = (
            *(program.command(), "serve", "--kubeconfig", str(kubeconfig)),
            *("--namespace", NAMESPACE, "--xds-port", str(self.port)),
            *("--contour-cafile", str(certificates / "CAcert.pem")),
            *("--contour-cert-file", str(certificates / "contourcert.pem")),
            *("--contour-key-file", str(certificates / "contourkey.pem")),
            *("--health-port", str(self._pages), "--http-port", str(self._pages)),
            *("--debug-http-port", str(self._debug), *flags),
        )
        self._process: asyncio.subprocess.Process | None = None

    async def launch(self, environment: Mapping[str, str] | None = None) -> None:
        """Starts the process, and does not wait for it."""
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdout=output, stderr=output, env=os.environ | (environment or {})
            )

    async def start(self, environment: Mapping[str, str] | None = None) -> float:
        """Starts it; the seconds until it was ready."""
        start = time.monotonic()
        await self.launch(environment)
        await self.ready()
        return time.monotonic() - start

    async def ready(self) -> None:
        """Waits until it is."""
        async with asyncio.timeout(PATIENCE):
            while not await self.is_ready():
                if self.status is not None:
                    raise RuntimeError(f"{self.name} ended with {self.status}: {self.last_words}")
                await asyncio.sleep(0.005)

    async def is_ready(self) -> bool:
        """Whether it says so."""
        try:
            return (await self.page("/readyz"))[0] == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def page(self, path: str) -> tuple[int, str]:
        """One of its pages, those for debugging included."""
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
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How the process ended, if it did."""
        assert self._process is not None
        return self._process.returncode

    @property
    def last_words(self) -> str:
        """The end of its log."""
        return " | ".join(self.log.read_text(errors="replace").splitlines()[-3:])

    @property
    def resident(self) -> float:
        """Its memory in MiB."""
        return instance.resident(self.pid)

    @property
    def most(self) -> float:
        """The most memory it ever had, in MiB."""
        return instance.resident(self.pid, "VmHWM")

    def freeze(self) -> None:
        """It is there, and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on as if no time had passed."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def is_frozen(self) -> bool:
        """Whether the kernel says so."""
        return processes.state(self.pid) == "T"

    async def end(self, number: int = signal.SIGKILL) -> float:
        """Ends it; the seconds that took."""
        start = time.monotonic()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            await self._process.wait()
        return time.monotonic() - start


class ControlPlane(Protocol):
    """Where an Envoy asks: a replica, or the Service before all."""

    @property
    def port(self) -> int:
        """Of xDS, on this machine."""
        ...


class Envoy(processes.Proxy):
    """An Envoy that hangs on a replica, or on whichever its Service chooses."""

    def __init__(self, folder: Path, name: str, of: ControlPlane) -> None:
        super().__init__(folder, folder / "unused", name)
        certificates, secrets = folder / "certificates", folder / f"{name}-secrets"
        subprocess.run(
            (
                *(program.command(), "bootstrap", str(self.configuration), "--node", name),
                *("--xds-address", "127.0.0.1", "--xds-port", str(of.port)),
                *("--admin-address", str(self.admin), "--resources-dir", str(secrets)),
                *("--envoy-cafile", str(certificates / "CAcert.pem")),
                *("--envoy-cert-file", str(certificates / "envoycert.pem")),
                *("--envoy-key-file", str(certificates / "envoykey.pem")),
                *("--stats-port", "0"),
            ),
            check=True,
        )


def make_certificates(folder: Path) -> None:
    """For the replicas and Envoys whose files are in this folder."""
    subprocess.run(
        (
            *(program.command(), "certgen", "--pem", str(folder / "certificates")),
            *("--namespace", NAMESPACE),
        ),
        check=True, capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def processor(pid: int) -> float:
    """The seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def load_average() -> float:
    """How many processes wanted to run, of the last minute."""
    return float(Path("/proc/loadavg").read_text().split()[0])
