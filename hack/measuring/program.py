"""`contour run` as a user starts it, in a process of its own, on a folder of manifests."""

import asyncio
import contextlib
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from tests.testbed.ports import free_ports
from tests.testbed.programs import PATIENCE, Program
from tests.testbed.replicas import COMMAND


class Running(Program):
    """A run that is ready."""

    port = 0
    seconds = 0.0
    """From the start of the process until it was ready."""


@contextlib.asynccontextmanager
async def running(manifests: Path) -> AsyncIterator[Running]:
    """Serves the manifests; SIGTERM ends it, as a user would."""
    run = Running()
    run.port, tls_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="state-") as state:
        start = time.monotonic()
        await run.spawn(
            *(COMMAND, "run", str(manifests), "--state-dir", state),
            *("--map-port", f"80={run.port}", "--map-port", f"443={tls_port}"),
            *("--drain-time", "0"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                while not Path(state, "ready").exists():
                    if run.status is not None:
                        raise RuntimeError(f"contour run ended with {run.status}")
                    await asyncio.sleep(0.005)
            run.seconds = time.monotonic() - start
            yield run
        finally:
            await run.end(signal.SIGTERM)
