"""The rate limit service as a child process: started, watched, started again when it dies.

A process of its own, so that a control plane that settles holds up no decision. It ends with the
process that started it, however that ends (`contour.host.launch`).
"""

import asyncio
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from contour.host import launch
from contour.host.log import Log

log = logging.getLogger(__name__)

_SHORTEST, _LONGEST = 0.1, 10.0  # seconds between two starts
_LONG_ENOUGH = 30.0  # seconds after which a start counts as a good one


@dataclass(frozen=True, slots=True)
class Child:
    """How the process is started."""

    control_plane: str
    """The address of the xDS server, as gRPC writes it."""
    socket: Path
    """Where Envoys ask."""
    log: Path
    """What it says; bounded."""
    redis: str | None = None
    """The URL of the Redis that counts; None: it counts in memory."""

    async def run(self) -> None:
        """Keeps it running until it is cancelled."""
        loop, pause = asyncio.get_running_loop(), _SHORTEST
        while True:
            started = loop.time()
            code = await self._life()
            if loop.time() - started > _LONG_ENOUGH:
                pause = _SHORTEST
            log.error("the rate limit service has ended (%d); see %s", code, self.log)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    async def _life(self) -> int:
        """From its start to its end; ends it if this task is cancelled."""
        self.socket.unlink(missing_ok=True)
        output = Log(self.log).opened()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        finally:
            os.close(output)
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()

    def _command(self) -> tuple[str, ...]:
        return (
            *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid())),
            *(sys.executable, "-I", "-m", "contour.ratelimits"),
            *(self.control_plane, f"unix:{self.socket}"),
            *((self.redis,) if self.redis else ()),
        )
