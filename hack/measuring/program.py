"""`contour run` as a user starts it, in a process of its own, on a folder of manifests."""

import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from hack.measuring import rig

PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Program:
    """A run that is ready."""

    process: asyncio.subprocess.Process
    port: int
    seconds: float
    """From the start of the process until it was ready."""


@contextlib.asynccontextmanager
async def running(manifests: Path) -> AsyncIterator[Program]:
    """Serves the manifests; ends with SIGTERM, as a user would end it."""
    port, tls_port = rig.free_port(), rig.free_port()
    with tempfile.TemporaryDirectory(prefix="state-") as state:
        start = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(command(), "run", str(manifests), "--state-dir", state),
            *("--map-port", f"80={port}", "--map-port", f"443={tls_port}", "--drain-time", "0"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await _ready(process, Path(state, "ready"))
            yield Program(process, port, time.monotonic() - start)
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def _ready(process: asyncio.subprocess.Process, ready: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not ready.exists():
            if process.returncode is not None:
                raise RuntimeError(f"contour run ended with {process.returncode}")
            await asyncio.sleep(0.005)


def command() -> str:
    """The program of this environment."""
    return str(Path(sys.executable).with_name("contour"))
